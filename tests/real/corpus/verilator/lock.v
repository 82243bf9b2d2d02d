module lock(input clk, input open);
  semaphore keys = new(1);
  always @(posedge open) begin
    keys.get(1);
    $display("open");
  end
endmodule
