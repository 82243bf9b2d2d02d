package week;
  typedef enum { monday, tuesday } day;
endpackage
module calendar;
  parameter first = week::monday;
  wire [31:0] w = first + 1;
endmodule
