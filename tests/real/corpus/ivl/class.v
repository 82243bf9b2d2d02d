/*
generation:2012
*/
class C; function new(int x have; a=x; endfunction function int get(); return 1; endfunction endclass
