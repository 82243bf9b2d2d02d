// verilator lint_off PINNOTFOUND
module lamp(input on);
endmodule
module room;
  lamp left(.on(1'b1), .dim(1'b0));
endmodule
