// Package twins compares the argument structs and constants of kernels with
// their Go twins, by the debug information that the C++ compiler leaves in the
// simulator.
package twins

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Field is one field of a struct. Fields of a struct within it are listed in its
// place, with its name in front; a struct of nothing but an array is that array.
type Field struct {
	Name   string // as Go has it: logSize for log_size, "_" for padding
	Offset int64
	Count  int64 // elements of an array, else 1
	Bytes  int64 // of an element; a pointer is a word of 8 bytes
}

// Struct is the layout of an argument struct.
type Struct struct {
	Bytes  int64
	Fields []Field
}

// Sources is what the compiler made of a library's kernels.
type Sources struct {
	Arguments map[string]Struct // by kernel
	// Constants has the values of each constant of a namespace and of each
	// enumerator: several, if files differ.
	Constants map[string][]int64
}

// Read reads the debug information of a library.
func Read(path string) (*Sources, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := file.DWARF()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &Sources{Arguments: map[string]Struct{}, Constants: map[string][]int64{}}
	for r := data.Reader(); ; {
		entry, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if entry == nil {
			return s, nil
		}
		name, _ := entry.Val(dwarf.AttrName).(string)
		switch entry.Tag {
		case dwarf.TagVariable, dwarf.TagEnumerator:
			s.addConstant(name, entry)
		case dwarf.TagSubprogram:
			kernel, ok := strings.CutSuffix(name, bodySuffix)
			if !ok || !entry.Children {
				continue
			}
			if err := s.addKernel(data, kernel, r); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, name, err)
			}
		}
	}
}

// bodySuffix ends the name of the function that CUZK_KERNEL makes of a kernel's
// body. Source: cuda/kernels/common/host.cuh.
const bodySuffix = "_body"

func (s *Sources) addConstant(name string, entry *dwarf.Entry) {
	value, ok := entry.Val(dwarf.AttrConstValue).(int64)
	if ok && !slices.Contains(s.Constants[name], value) {
		s.Constants[name] = append(s.Constants[name], value)
	}
}

// addKernel reads the one parameter of a kernel's body, a reference to its
// argument struct.
func (s *Sources) addKernel(data *dwarf.Data, kernel string, r *dwarf.Reader) error {
	parameter, err := r.Next()
	if err != nil {
		return err
	}
	at, ok := parameter.Val(dwarf.AttrType).(dwarf.Offset)
	if parameter.Tag != dwarf.TagFormalParameter || !ok {
		return nil // the definition, which refers to the declaration for its types
	}
	at, err = referred(data, at)
	if err != nil {
		return err
	}
	args, err := data.Type(at)
	if err != nil {
		return err
	}
	layout, err := structOf(args)
	if err != nil {
		return err
	}
	s.Arguments[kernel] = layout
	return nil
}

// referred is what the types at an offset refer to, which package dwarf has no
// type for.
func referred(data *dwarf.Data, at dwarf.Offset) (dwarf.Offset, error) {
	for {
		r := data.Reader()
		r.Seek(at)
		entry, err := r.Next()
		if err != nil {
			return 0, err
		}
		next, ok := entry.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok || entry.Tag != dwarf.TagReferenceType && entry.Tag != dwarf.TagConstType {
			return at, nil
		}
		at = next
	}
}

func structOf(t dwarf.Type) (Struct, error) {
	s := Struct{Bytes: t.Size()}
	err := s.addC("", 0, t)
	return s, err
}

func (s *Struct) addC(name string, offset int64, t dwarf.Type) error {
	switch t := t.(type) {
	case *dwarf.TypedefType:
		return s.addC(name, offset, t.Type)
	case *dwarf.QualType:
		return s.addC(name, offset, t.Type)
	case *dwarf.StructType:
		if len(t.Field) == 1 {
			if _, array := t.Field[0].Type.(*dwarf.ArrayType); array {
				return s.addC(name, offset, t.Field[0].Type)
			}
		}
		for _, f := range t.Field {
			if err := s.addC(joined(name, camel(f.Name)), offset+f.ByteOffset, f.Type); err != nil {
				return err
			}
		}
		return nil
	case *dwarf.ArrayType:
		return s.add(name, offset, t.Count, t.Type.Size())
	case *dwarf.PtrType:
		const pointerBytes = 8
		return s.add(name, offset, 1, pointerBytes)
	case *dwarf.UintType:
		return s.add(name, offset, 1, t.Size())
	}
	return fmt.Errorf("field %s has a type that arguments do not have: %v", name, t)
}

func (s *Struct) add(name string, offset, count, bytes int64) error {
	s.Fields = append(s.Fields, Field{Name: name, Offset: offset, Count: count, Bytes: bytes})
	return nil
}

// Of is the layout of a Go struct.
func Of(t reflect.Type) (Struct, error) {
	s := Struct{Bytes: int64(t.Size())}
	err := s.addGo("", 0, t)
	return s, err
}

func (s *Struct) addGo(name string, offset int64, t reflect.Type) error {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if err := s.addGo(joined(name, f.Name), offset+int64(f.Offset), f.Type); err != nil {
				return err
			}
		}
		return nil
	case reflect.Array:
		return s.add(name, offset, int64(t.Len()), int64(t.Elem().Size()))
	case reflect.Uint32, reflect.Uint64:
		return s.add(name, offset, 1, int64(t.Size()))
	}
	return fmt.Errorf("field %s has a type that arguments do not have: %v", name, t)
}

func joined(outer, name string) string {
	if outer == "" {
		return name
	}
	return outer + "." + name
}

// camel is a C++ name as Go has it.
func camel(name string) string {
	if name == "pad" {
		return "_"
	}
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}
