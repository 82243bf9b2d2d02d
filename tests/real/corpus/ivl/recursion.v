/*
generation:2012
*/
module m; function integer f(input integer n); f = f(n-1); endfunction
localparam F = f(3); endmodule
