/*
generation:2012
*/
primitive u(q,a); output q; input a; table 0 0 : 0; endtable endprimitive
