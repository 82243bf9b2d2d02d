void reset();
void pause();
#pragma asm
