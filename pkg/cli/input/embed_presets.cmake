# Writes OUT, a source that holds every file of FOLDER as a preset, by name.
file(GLOB files "${FOLDER}/*.yaml")
list(SORT files)
set(entries "")
foreach(file ${files})
  get_filename_component(name "${file}" NAME)
  string(REGEX REPLACE "\\.yaml$" "" name "${name}")
  file(READ "${file}" text)
  string(APPEND entries "      {\"${name}\", R\"preset(${text})preset\"},\n")
endforeach()
file(WRITE "${OUT}" "#include \"pkg/cli/input/presets.h\"

namespace yardmaster::cli {

const std::vector<Preset>& Presets() {
  static const std::vector<Preset> presets = {
${entries}  };
  return presets;
}

}  // namespace yardmaster::cli
")
