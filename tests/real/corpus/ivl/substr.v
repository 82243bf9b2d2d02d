/*
generation:2012
*/
module m; string s; initial s = s.substr(1); endmodule
