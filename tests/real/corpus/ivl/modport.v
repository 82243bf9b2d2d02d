/*
generation:2012
*/
module m; int a; modport mp(input a); endmodule
