/*
generation:2012
*/
module m; struct packed {logic [3:0] x; logic y;} s; initial s = '{1, 0}; endmodule
