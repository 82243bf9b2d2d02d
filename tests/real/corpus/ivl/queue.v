/*
generation:2012
*/
module m; int q[$]; initial q[3:0] = 1; endmodule
