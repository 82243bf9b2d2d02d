// recrash-collector as data of a program: agent/client/collector_file.cc runs it from there.
  .section .rodata.recrash_collector, "a", @progbits
  .globl __recrash_embedded_collector, __recrash_embedded_collector_end
  .hidden __recrash_embedded_collector, __recrash_embedded_collector_end
__recrash_embedded_collector:
  .incbin COLLECTOR
__recrash_embedded_collector_end:
  .section .note.GNU-stack, "", @progbits
