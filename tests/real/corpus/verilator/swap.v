module swap(input clk, input [3:0] d);
  reg [3:0] q, r;
  always @(negedge clk) fork
    q <= d;
    r <= q + 1;
  join
endmodule
