/*
generation:2012
*/
module m(input a, input b); wire [1:2147483648] D = {a, b}; endmodule
