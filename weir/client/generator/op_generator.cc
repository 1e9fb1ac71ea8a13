// op_generator FOLDER TABLE...: for every op table writes FOLDER/ops/<family>_ops.h and .cc for graphs and the same
// below FOLDER/eager/ops, and an all_ops.h in both.
//
// A function an op, in namespace weir::ops: the scope, the inputs, attributes that have no default, and a struct of
// those that have one, to be filled with designated initialisers. What follows from the inputs (types, counts) is not
// asked for. Definitions only hand their arguments to OpCall, so they compile fast and all thinking is in one place.
// The function of the same name in weir::eager takes the same without the scope and runs the op at once: it is one call
// of the first with a scope that says so.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "weir/framework/op_table.h"

namespace weir {
namespace {

const char* const kEnumerators[] = {"kInvalid",        "kFloat",        "kDouble",         "kInt32",
                                    "kUInt8",          "kInt16",        "kInt8",           "kString",
                                    "kComplex64",      "kInt64",        "kBool",           "kQInt8",
                                    "kQUInt8",         "kQInt32",       "kBFloat16",       "kQInt16",
                                    "kQUInt16",        "kUInt16",       "kComplex128",     "kHalf",
                                    "kResource",       "kVariant",      "kUInt32",         "kUInt64",
                                    "kFloat8E5M2",     "kFloat8E4M3FN", "kFloat8E4M3FNUZ", "kFloat8E4M3B11FNUZ",
                                    "kFloat8E5M2FNUZ", "kInt4",         "kUInt4",          "kInt2",
                                    "kUInt2",          "kFloat4E2M1FN"};

// Names that mean something else to the compiler, or in the generated text.
std::string Safe(const std::string& name) {
  static const std::set<std::string> reserved = {
      "scope", "attrs",  "op_",      "signed",   "unsigned",  "default", "template",  "operator", "class", "struct",
      "enum",  "union",  "register", "export",   "namespace", "delete",  "new",       "switch",   "case",  "if",
      "else",  "for",    "while",    "do",       "int",       "float",   "double",    "bool",     "char",  "long",
      "short", "const",  "static",   "return",   "this",      "true",    "false",     "and",      "or",    "not",
      "var",   "inline", "final",    "override", "private",   "public",  "protected", "auto",     "using", "typename"};
  return reserved.contains(name) && name != "var" && name != "final" && name != "override" ? name + "_" : name;
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    char escape[8];
    if (c == '"' || c == '\\') {
      out += {'\\', static_cast<char>(c)};
    } else if (c < 32 || c > 126) {
      std::snprintf(escape, sizeof escape, "\\%03o", c);
      out += escape;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

std::string Number(float value) {
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  char digits[64];
  std::snprintf(digits, sizeof digits, "%.9g", static_cast<double>(value));
  std::string text = digits;
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string Number(int64_t value) {
  if (value == INT64_MIN) return "INT64_MIN";
  return std::to_string(value);
}

std::string TypeName(DType dtype) { return std::string("::weir::DType::") + kEnumerators[static_cast<int>(dtype)]; }

// The C++ type of an attribute's value.
std::string CppType(const std::string& type) {
  if (type == "string") return "std::string_view";
  if (type == "int") return "int64_t";
  if (type == "float") return "float";
  if (type == "bool") return "bool";
  if (type == "type") return "::weir::DType";
  if (type == "shape") return "::weir::PartialShape";
  if (type == "tensor") return "::weir::Tensor";
  if (type == "func") return "::weir::FunctionAttr";
  std::string element = type.substr(5, type.size() - 6);  // list(...)
  return "std::vector<" + (element == "string" ? std::string("std::string") : CppType(element)) + ">";
}

template <typename T, typename F>
std::string Join(const T& values, F format) {
  std::string out;
  for (const auto& value : values) out += (out.empty() ? "" : ", ") + format(value);
  return out;
}

// The default as an initialiser; empty where the field is to be a std::optional.
std::string DefaultText(const Attribute& value) {
  if (auto* v = value.get_if<std::string>()) return " = " + Quoted(*v);
  if (auto* v = value.get_if<int64_t>()) return " = " + Number(*v);
  if (auto* v = value.get_if<float>()) return " = " + Number(*v);
  if (auto* v = value.get_if<bool>()) return *v ? " = true" : " = false";
  if (auto* v = value.get_if<DType>()) return " = " + TypeName(*v);
  if (auto* v = value.get_if<PartialShape>()) return v->has_rank() ? "" : " = {}";
  const AttrList* list = value.get_if<AttrList>();
  if (!value.has_value() || (list != nullptr && list->size() == 0)) return " = {}";
  if (list == nullptr || !list->shape.empty() || !list->tensor.empty() || !list->func.empty()) return "";
  return " = {" + Join(list->s, Quoted) + Join(list->i, [](int64_t v) { return Number(v); }) +
         Join(list->f, [](float v) { return Number(v); }) +
         Join(list->b, [](bool v) { return std::string(v ? "true" : "false"); }) + Join(list->type, TypeName) + "}";
}

// True if a node's inputs say what the attribute is.
bool IsInferred(const OpSchema& schema, const AttrSchema& attr) {
  for (const ArgSchema& input : schema.inputs) {
    if (input.type_attr == attr.name || input.number_attr == attr.name || input.type_list_attr == attr.name)
      return true;
  }
  return false;
}

bool IsList(const ArgSchema& arg) { return !arg.number_attr.empty() || !arg.type_list_attr.empty(); }

struct Parts {
  std::vector<const AttrSchema*> required;
  std::vector<const AttrSchema*> optional;
};

Parts Split(const OpSchema& schema) {
  Parts parts;
  for (const AttrSchema& attr : schema.attrs) {
    if (IsInferred(schema, attr)) continue;
    (attr.default_value ? parts.optional : parts.required).push_back(&attr);
  }
  return parts;
}

// What differs between the two kinds of functions.
struct Flavor {
  const char* tensor;     // what an output is
  const char* operation;  // what an op without outputs gives
  const char* attrs;      // before the name of a struct of attributes
};
constexpr Flavor kGraph = {"Output", "Operation", ""};
constexpr Flavor kEager = {"EagerTensor", "Status", "ops::"};

std::string OutputType(const Flavor& flavor, const ArgSchema& output) {
  return IsList(output) ? std::string("std::vector<") + flavor.tensor + ">" : flavor.tensor;
}

std::string ReturnType(const Flavor& flavor, const OpSchema& schema) {
  if (schema.outputs.empty()) return flavor.operation;
  if (schema.outputs.size() > 1) return schema.name + "Outputs";
  return OutputType(flavor, schema.outputs[0]);
}

std::string Parameters(const Flavor& flavor, const OpSchema& schema, const Parts& parts, bool declaration) {
  std::string out = &flavor == &kGraph ? "const Scope& scope" : "";
  auto next = [&out] { return out.empty() ? "" : ", "; };
  for (const ArgSchema& input : schema.inputs) {
    out += Cat(next(), "const ", IsList(input) ? "InputList" : "Input", "& ", Safe(input.name));
  }
  for (const AttrSchema* attr : parts.required) {
    std::string type = CppType(attr->type);
    bool by_value = attr->type == "int" || attr->type == "float" || attr->type == "bool" || attr->type == "type" ||
                    attr->type == "string";
    out += Cat(next(), by_value ? type : "const " + type + "&", " ", Safe(attr->name));
  }
  if (!parts.optional.empty()) {
    out += Cat(next(), "const ", flavor.attrs, schema.name, "Attrs& attrs", declaration ? " = {}" : "");
  }
  return out;
}

void DeclareFunction(const Flavor& flavor, const OpSchema& schema, const Parts& parts, std::ostream& out) {
  if (schema.outputs.size() > 1) {
    out << "struct " << schema.name << "Outputs {\n";
    for (const ArgSchema& output : schema.outputs) {
      out << "  " << OutputType(flavor, output) << " " << Safe(output.name) << ";\n";
    }
    out << "};\n";
  }
  if (!schema.doc.empty() && &flavor == &kGraph) out << "// " << schema.doc << "\n";
  out << ReturnType(flavor, schema) << " " << schema.name << "(" << Parameters(flavor, schema, parts, true) << ");\n\n";
}

void Declare(const OpSchema& schema, std::ostream& out) {
  const Parts parts = Split(schema);
  if (!parts.optional.empty()) {
    out << "struct " << schema.name << "Attrs {\n";
    for (const AttrSchema* attr : parts.optional) {
      std::string text = DefaultText(*attr->default_value);
      std::string type = CppType(attr->type);
      if (text.empty()) type = "std::optional<" + type + ">", text = " = {}";
      out << "  " << type << " " << Safe(attr->name) << text << ";\n";
    }
    out << "};\n";
  }
  DeclareFunction(kGraph, schema, parts, out);
}

void Define(const OpSchema& schema, std::ostream& out) {
  const Parts parts = Split(schema);
  out << ReturnType(kGraph, schema) << " " << schema.name << "(" << Parameters(kGraph, schema, parts, false) << ") {\n";
  out << "  OpCall op_(scope, \"" << schema.name << "\");\n";
  for (const ArgSchema& input : schema.inputs) out << "  op_.Add(" << Safe(input.name) << ");\n";
  for (const AttrSchema* attr : parts.required) {
    out << "  op_.Set(\"" << attr->name << "\", " << Safe(attr->name) << ");\n";
  }
  for (const AttrSchema* attr : parts.optional) {
    out << "  op_.Set(\"" << attr->name << "\", attrs." << Safe(attr->name) << ");\n";
  }
  if (schema.outputs.empty()) {
    out << "  return op_.Finish();\n";
  } else if (schema.outputs.size() == 1) {
    out << (IsList(schema.outputs[0]) ? "  return op_.List(0);\n" : "  return op_.Single();\n");
  } else {
    out << "  return {";
    for (size_t i = 0; i < schema.outputs.size(); ++i) {
      out << (i == 0 ? "" : ", ") << (IsList(schema.outputs[i]) ? "op_.List(" : "op_.One(") << i << ")";
    }
    out << "};\n";
  }
  out << "}\n\n";
}

// Old variables are references, which only graphs have.
bool RunsEagerly(const OpSchema& schema) {
  for (const ArgSchema& arg : schema.inputs) {
    if (arg.is_ref) return false;
  }
  for (const ArgSchema& arg : schema.outputs) {
    if (arg.is_ref) return false;
  }
  return true;
}

void DefineEager(const OpSchema& schema, std::ostream& out) {
  const Parts parts = Split(schema);
  out << ReturnType(kEager, schema) << " " << schema.name << "(" << Parameters(kEager, schema, parts, false) << ") {\n"
      << "  EagerCall op_;\n";
  std::string call = "ops::" + schema.name + "(op_.scope()";
  for (const ArgSchema& input : schema.inputs) call += ", " + Safe(input.name);
  for (const AttrSchema* attr : parts.required) call += ", " + Safe(attr->name);
  if (!parts.optional.empty()) call += ", attrs";
  call += ")";
  if (schema.outputs.empty()) {
    out << "  return op_.Done(" << call << ");\n";
  } else if (schema.outputs.size() == 1) {
    out << "  return op_." << (IsList(schema.outputs[0]) ? "List(" : "One(") << call << ");\n";
  } else {
    out << "  const auto out_ = " << call << ";\n  return {";
    for (size_t i = 0; i < schema.outputs.size(); ++i) {
      out << (i == 0 ? "" : ", ") << (IsList(schema.outputs[i]) ? "op_.List(out_." : "op_.One(out_.")
          << Safe(schema.outputs[i].name) << ")";
    }
    out << "};\n";
  }
  out << "}\n\n";
}

// Leaves a file alone that holds the text already, so that nothing is compiled anew.
bool Write(const std::string& path, const std::string& text) {
  std::ifstream old(path, std::ios::binary);
  std::stringstream before;
  before << old.rdbuf();
  if (old && before.str() == text) return true;
  std::ofstream file(path, std::ios::binary);
  file << text;
  return file.good();
}

struct All {
  std::string graph = "// Every generated function.\n#pragma once\n\n";
  std::string eager = "// Every generated function that runs at once.\n#pragma once\n\n";
};

bool WriteEager(const std::string& folder, const std::string& family, const std::vector<OpSchema>& schemas, All* all) {
  const std::string include = "weir/client/eager/ops/" + family + "_ops.h";
  std::ostringstream header, source;
  header << "// Made by op_generator from " << family << ".ops: a function an op, run at once.\n"
         << "#pragma once\n\n#include <vector>\n\n#include \"weir/base/export.h\"\n"
         << "#include \"weir/client/eager_tensor.h\"\n"
         << "#include \"weir/client/ops/" << family
         << "_ops.h\"\n\nnamespace WEIR_PUBLIC weir {\nnamespace eager {\n\n";
  source << "#include \"" << include << "\"\n\n#include \"weir/client/eager_execute.h\"\n\nnamespace weir::eager {\n\n";
  for (const OpSchema& schema : schemas) {
    if (schema.name.starts_with("_") || !RunsEagerly(schema)) continue;
    DeclareFunction(kEager, schema, Split(schema), header);
    DefineEager(schema, source);
  }
  header << "}  // namespace eager\n}  // namespace weir\n";
  source << "}  // namespace weir::eager\n";
  all->eager += "#include \"" + include + "\"\n";
  const std::string stem = folder + "/eager/ops/" + family + "_ops";
  return Write(stem + ".h", header.str()) && Write(stem + ".cc", source.str());
}

bool Generate(const std::string& folder, const std::string& table, All* all) {
  std::string family = table.substr(table.rfind('/') + 1);
  family = family.substr(0, family.find('.'));
  std::ifstream file(table, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  auto schemas = ParseOpTable(text.str(), family);
  if (!schemas.ok()) {
    std::fprintf(stderr, "%s: %s\n", table.c_str(), schemas.status().ToString().c_str());
    return false;
  }
  const std::string include = "weir/client/ops/" + family + "_ops.h";
  std::ostringstream header, source;
  header << "// Made by op_generator from " << family << ".ops: a function an op.\n"
         << "#pragma once\n\n#include <cmath>\n#include <cstdint>\n#include <optional>\n#include <string>\n"
         << "#include <string_view>\n#include <vector>\n\n#include \"weir/base/export.h\"\n"
         << "#include \"weir/client/input.h\"\n"
         << "#include \"weir/framework/attribute.h\"\n\nnamespace WEIR_PUBLIC weir {\nnamespace ops {\n\n";
  source << "#include \"" << include << "\"\n\n#include \"weir/client/op_call.h\"\n\nnamespace weir::ops {\n\n";
  for (const OpSchema& schema : *schemas) {
    if (schema.name.starts_with("_")) continue;  // the engine's own
    Declare(schema, header);
    Define(schema, source);
  }
  header << "}  // namespace ops\n}  // namespace weir\n";
  source << "}  // namespace weir::ops\n";
  all->graph += "#include \"" + include + "\"\n";
  const std::string stem = folder + "/ops/" + family + "_ops";
  return Write(stem + ".h", header.str()) && Write(stem + ".cc", source.str()) &&
         WriteEager(folder, family, *schemas, all);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: op_generator FOLDER TABLE...\n");
    return 2;
  }
  const std::string folder = argv[1];
  weir::All all;
  for (int i = 2; i < argc; ++i) {
    if (!weir::Generate(folder, argv[i], &all)) return 1;
  }
  return weir::Write(folder + "/ops/all_ops.h", all.graph) && weir::Write(folder + "/eager/ops/all_ops.h", all.eager)
             ? 0
             : 1;
}
