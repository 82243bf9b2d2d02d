module keys;
  typedef enum { dark, light } shade;
  typedef struct { shade corner[4]; } tile;
  typedef struct { tile row[2]; } wall;
  wall kitchen = '{shade: light, default: '0};
endmodule
