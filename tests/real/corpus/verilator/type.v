module widths;
  localparam type word = type(logic [3:0]);
  word w;
endmodule
