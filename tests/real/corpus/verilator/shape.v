class shape;
  int sides;
  function new(int n); sides = n; endfunction
endclass
class square extends shape;
  function new(int n); super.new(n + 1); endfunction
endclass
module draw;
  square s = new(3);
endmodule
module top;
  draw d();
endmodule
