module ages;
  int age[string];
  initial age = '{30, 41, 7};
endmodule
