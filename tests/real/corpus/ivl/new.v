/*
generation:2012
*/
module m; int d[]; initial d = new; endmodule
