package units;
  parameter int metre = 100;
endpackage
package units;
  parameter int metre = 100;
  parameter int mile = 1609;
endpackage
module ruler import units::*; #(parameter int length = metre) ();
endmodule
module top;
  ruler r();
endmodule
