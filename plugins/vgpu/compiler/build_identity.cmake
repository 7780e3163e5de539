# Writes a source file that says which build this is: a hash of all that decides what compiled kernels look like.
# cmake -DROOT=<folder> -DLIST=<file of paths in it> -DOPTIONS=<text> -DOUTPUT=<file> -P build_identity.cmake
file(STRINGS ${LIST} sources)
set(facts "${OPTIONS}\n")
foreach(source IN LISTS sources)
  file(SHA256 ${ROOT}/${source} hash)
  string(APPEND facts "${source} ${hash}\n")
endforeach()
string(SHA256 identity "${facts}")
file(WRITE ${OUTPUT} "#include \"plugins/vgpu/compiler/build_identity.hpp\"

namespace rigel::vgpu::exec::compiler {

const std::string_view kBuildIdentity = \"${identity}\";

}  // namespace rigel::vgpu::exec::compiler
")
