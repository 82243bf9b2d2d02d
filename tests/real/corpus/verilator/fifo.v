class fifo #(int depth, type item);
  item buffer[depth];
endclass
module queue(input clk);
  always @(posedge clk) begin
    automatic fifo #(.depth(8)) waiting = null;
  end
endmodule
