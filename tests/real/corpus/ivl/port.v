/*
generation:2012
*/
module m; wire z; n a[0:0](z.q); endmodule
module n(input q); endmodule
