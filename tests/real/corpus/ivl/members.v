/*
generation:2012
*/
module m; struct packed {logic x;} s [3:0]; wire z = s[0].x; endmodule
