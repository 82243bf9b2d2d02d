interface bus(input clk);
  logic ready;
  modport master(output ready);
endinterface
