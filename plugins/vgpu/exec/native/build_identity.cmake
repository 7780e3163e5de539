# Writes a source file with the build's identity: a hash of everything that determines generated code.
# cmake -DROOT=<directory> -DLIST=<file of paths in it> -DOPTIONS=<text> -DOUTPUT=<file> -P build_identity.cmake
file(STRINGS ${LIST} sources)
set(facts "${OPTIONS}\n")
foreach(source IN LISTS sources)
  file(SHA256 ${ROOT}/${source} hash)
  string(APPEND facts "${source} ${hash}\n")
endforeach()
string(SHA256 identity "${facts}")
file(WRITE ${OUTPUT} "#include \"plugins/vgpu/exec/native/build_identity.hpp\"

namespace rigel::vgpu::exec::compiler {

const std::string_view kBuildIdentity = \"${identity}\";

}  // namespace rigel::vgpu::exec::compiler
")
