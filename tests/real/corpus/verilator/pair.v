class pair #(type first, type second);
  first left;
  second right;
endclass
module couple;
  function automatic int size(pair both);
    return 2;
  endfunction
endmodule
