# Writes OUT, a source that holds every file of FOLDER as an asset, by name.
file(GLOB files "${FOLDER}/*")
list(SORT files)
set(entries "")
foreach(file ${files})
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" text)
  string(APPEND entries "      {\"${name}\", R\"~~asset~~(${text})~~asset~~\"},\n")
endforeach()
file(WRITE "${OUT}" "#include \"pkg/page/assets.h\"

namespace yardmaster::page {

const std::vector<Asset>& Assets() {
  static const std::vector<Asset> assets = {
${entries}  };
  return assets;
}

}  // namespace yardmaster::page
")
