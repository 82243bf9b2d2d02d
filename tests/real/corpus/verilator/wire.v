interface port; logic busy; endinterface
module unit #(int width = 8)(input [width-1:0] d);
  port p();
endmodule
module top;
  unit #(4) u(.d(4'd1));
  logic l;
  always_comb l = u.p;
endmodule
