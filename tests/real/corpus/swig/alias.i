%module shapes
template <class T> using Same = T;
struct Shape {};
%template() Same<Shape>;
struct Square : Same<Shape> {
  using Same<Shape>::Same;
};
