/* verilator lint_off PKGNODECL */
package colours;
  export shades::red;
endpackage
module paint;
endmodule
