package protobuf

import (
	"context"
	"fmt"
	"slices"

	"github.com/jhump/protoreflect/v2/protoprint"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

// pruning derives the released schema from a writer's schema.
type pruning struct {
	plan  *plan
	types map[protoreflect.FullName]bool // messages and enums that the released schema refers to
	files map[string]bool                // files of these types
}

// releasedSchema returns the released schema of a plan, with the columns' kinds for
// masked fields: its text, its message type and its imports.
func releasedSchema(p *plan, kind func(f *field) protoreflect.FieldDescriptor) (text string,
	message protoreflect.MessageDescriptor, imports []string, err error) {
	pr := &pruning{plan: p, types: map[protoreflect.FullName]bool{}, files: map[string]bool{}}
	if err := pr.reach(p.message); err != nil {
		return "", nil, nil, err
	}
	file := proto.Clone(protodesc.ToFileDescriptorProto(p.schema.file)).(*descriptorpb.FileDescriptorProto)
	pr.masked(file, kind)
	file.Service, file.Extension, file.SourceCodeInfo = nil, nil, nil
	if o := file.Options; o != nil {
		file.Options = &descriptorpb.FileOptions{Features: standard(o.Features)}
	}
	file.MessageType = pr.messages(file.MessageType, protoreflect.FullName(file.GetPackage()))
	file.EnumType = pr.enums(file.EnumType, protoreflect.FullName(file.GetPackage()))
	file.Dependency = pr.imports(file.Dependency)
	file.PublicDependency, file.WeakDependency, file.OptionDependency = nil, nil, nil
	built, text, err := printed(file, p.schema.file)
	if err != nil {
		return "", nil, nil, fmt.Errorf("released form of schema %d: %w", p.schema.ID, err)
	}
	message, err = findMessage(built, string(p.message.FullName()))
	return text, message, file.Dependency, err
}

// printed builds a file with the imports of another file, and returns it and its text.
func printed(file *descriptorpb.FileDescriptorProto, from protoreflect.FileDescriptor) (protoreflect.FileDescriptor,
	string, error) {
	imports := &protoregistry.Files{}
	if from != nil {
		if err := register(imports, from.Imports()); err != nil {
			return nil, "", err
		}
	}
	built, err := protodesc.NewFile(file, imports)
	if err != nil {
		return nil, "", err
	}
	printer := protoprint.Printer{OmitComments: protoprint.CommentsAll, Compact: true}
	text, err := printer.PrintProtoToString(built)
	return built, text, err
}

func register(files *protoregistry.Files, imports protoreflect.FileImports) error {
	for i := range imports.Len() {
		f := imports.Get(i).FileDescriptor
		if _, err := files.FindFileByPath(f.Path()); err == nil {
			continue
		}
		if err := register(files, f.Imports()); err != nil {
			return err
		}
		if err := files.RegisterFile(f); err != nil {
			return err
		}
	}
	return nil
}

// standard returns the features without those of single languages.
func standard(f *descriptorpb.FeatureSet) *descriptorpb.FeatureSet {
	if f == nil {
		return nil
	}
	return &descriptorpb.FeatureSet{FieldPresence: f.FieldPresence, EnumType: f.EnumType,
		RepeatedFieldEncoding: f.RepeatedFieldEncoding,
		Utf8Validation:        f.Utf8Validation, MessageEncoding: f.MessageEncoding, JsonFormat: f.JsonFormat}
}

// reach adds a message type and the types that its released fields refer to.
func (pr *pruning) reach(m protoreflect.MessageDescriptor) error {
	if pr.types[m.FullName()] {
		return nil
	}
	pr.types[m.FullName()], pr.files[m.ParentFile().Path()] = true, true
	cut := pr.plan.cut[m.FullName()]
	if len(cut) > 0 && m.ParentFile().Path() != pr.plan.schema.file.Path() {
		return fmt.Errorf(
			"schema %d refers to %s of %s, which has fields that are not listed; they cannot be cut out of a schema that others refer to: withhold the column, or list what the newest schema has",
			pr.plan.schema.ID, m.FullName(), m.ParentFile().Path())
	}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if cut[f.Number()] {
			continue
		}
		if e := f.Enum(); e != nil {
			pr.types[e.FullName()], pr.files[e.ParentFile().Path()] = true, true
		}
		if f.Message() != nil {
			if err := pr.reach(f.Message()); err != nil {
				return err
			}
		}
	}
	return nil
}

// imports returns the paths that the released schema needs.
func (pr *pruning) imports(paths []string) (kept []string) {
	all := pr.plan.schema.file.Imports()
	for i := range all.Len() {
		if slices.Contains(paths, all.Get(i).Path()) && pr.offers(all.Get(i).FileDescriptor) {
			kept = append(kept, all.Get(i).Path())
		}
	}
	return kept
}

// offers reports whether a file, or one of its public imports, has a type that the
// released schema refers to.
func (pr *pruning) offers(f protoreflect.FileDescriptor) bool {
	if pr.files[f.Path()] {
		return true
	}
	for i := range f.Imports().Len() {
		if im := f.Imports().Get(i); im.IsPublic && pr.offers(im.FileDescriptor) {
			return true
		}
	}
	return false
}

// masked gives masked fields the column's type, whatever the writer's was, and
// adds those that the writer's schema lacks.
func (pr *pruning) masked(file *descriptorpb.FileDescriptorProto, kind func(f *field) protoreflect.FieldDescriptor) {
	list := file.MessageType
	var m *descriptorpb.DescriptorProto
	for _, i := range indexesOf(pr.plan.message) {
		m = list[i]
		list = m.NestedType
	}
	for _, f := range pr.plan.masked {
		to := kind(f)
		if f.id < 0 {
			name := string(to.Name())
			added := &descriptorpb.FieldDescriptorProto{Name: &name, Number: proto.Int32(int32(f.number)),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
				Type:  descriptorpb.FieldDescriptorProto_Type(to.Kind()).Enum()}
			if pr.plan.schema.file.Syntax() == protoreflect.Proto3 {
				added.Proto3Optional, added.OneofIndex = proto.Bool(true), proto.Int32(int32(len(m.OneofDecl)))
				m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + name)})
			}
			m.Field = append(m.Field, added)
			continue
		}
		if f.kind == to.Kind() || f.kind == protoreflect.EnumKind {
			continue
		}
		for _, g := range m.Field {
			if g.GetNumber() == int32(f.number) {
				g.Type, g.DefaultValue = descriptorpb.FieldDescriptorProto_Type(to.Kind()).Enum(), nil
			}
		}
	}
}

// messages prunes message types, including nested ones.
func (pr *pruning) messages(list []*descriptorpb.DescriptorProto, within protoreflect.FullName) (
	kept []*descriptorpb.DescriptorProto) {
	for _, m := range list {
		name := within.Append(protoreflect.Name(m.GetName()))
		m.NestedType = pr.messages(m.NestedType, name)
		m.EnumType = pr.enums(m.EnumType, name)
		m.Extension, m.ExtensionRange = nil, nil
		if o := m.Options; o != nil {
			m.Options = nil
			if o.MapEntry != nil || o.Features != nil {
				m.Options = &descriptorpb.MessageOptions{MapEntry: o.MapEntry, Features: standard(o.Features)}
			}
		}
		if !pr.types[name] {
			if len(m.NestedType)+len(m.EnumType) == 0 {
				continue
			}
			m.Field, m.OneofDecl, m.ReservedName, m.ReservedRange = nil, nil, nil, nil // it only contains other types
		}
		pr.fields(m, pr.plan.cut[name])
		kept = append(kept, m)
	}
	return kept
}

// fields removes the fields that are not released from a message type and reserves
// their numbers. It does not reserve their names, so that readers of the release do not
// learn what is withheld.
func (pr *pruning) fields(m *descriptorpb.DescriptorProto, cut map[protoreflect.FieldNumber]bool) {
	var kept []*descriptorpb.FieldDescriptorProto
	used := make([]bool, len(m.OneofDecl))
	for _, f := range m.Field {
		if cut[protoreflect.FieldNumber(f.GetNumber())] {
			m.ReservedRange = append(m.ReservedRange,
				&descriptorpb.DescriptorProto_ReservedRange{Start: proto.Int32(f.GetNumber()), End: proto.Int32(f.GetNumber() + 1)})
			continue
		}
		if o := f.Options; o != nil {
			f.Options = nil
			if o.Packed != nil || o.Features != nil {
				f.Options = &descriptorpb.FieldOptions{Packed: o.Packed, Features: standard(o.Features)}
			}
		}
		if f.OneofIndex != nil {
			used[f.GetOneofIndex()] = true
		}
		kept = append(kept, f)
	}
	m.Field = kept
	var oneofs []*descriptorpb.OneofDescriptorProto
	places := make([]int32, len(used))
	for i, o := range m.OneofDecl {
		if used[i] {
			places[i] = int32(len(oneofs))
			if o.Options != nil {
				o.Options = &descriptorpb.OneofOptions{Features: standard(o.Options.Features)}
			}
			oneofs = append(oneofs, o)
		}
	}
	m.OneofDecl = oneofs
	for _, f := range kept {
		if f.OneofIndex != nil {
			f.OneofIndex = &places[f.GetOneofIndex()]
		}
	}
}

// enums prunes enums.
func (pr *pruning) enums(list []*descriptorpb.EnumDescriptorProto, within protoreflect.FullName) (
	kept []*descriptorpb.EnumDescriptorProto) {
	for _, e := range list {
		if !pr.types[within.Append(protoreflect.Name(e.GetName()))] {
			continue
		}
		if o := e.Options; o != nil {
			e.Options = nil
			if o.AllowAlias != nil || o.Features != nil {
				e.Options = &descriptorpb.EnumOptions{AllowAlias: o.AllowAlias, Features: standard(o.Features)}
			}
		}
		for _, v := range e.Value {
			v.Options = nil
		}
		kept = append(kept, e)
	}
	return kept
}

// references returns the references of the released schema. In a registry other than
// the source's, it registers them under the subjects that they have in the source's
// registry.
func (w *writer) references(ctx context.Context, s *schema, imports []string) ([]registry.Reference, error) {
	var out []registry.Reference
	for _, ref := range s.References {
		if !slices.Contains(imports, ref.Name) {
			continue
		}
		if w.registry != w.reader.registry {
			var err error
			if ref, err = w.copyReference(ctx, s, ref); err != nil {
				return nil, err
			}
		}
		out = append(out, ref)
	}
	return out, nil
}

func (w *writer) copyReference(ctx context.Context, s *schema, ref registry.Reference) (registry.Reference, error) {
	r := s.refs[ref.Name]
	c := registry.Schema{Type: r.Type, Text: r.Text}
	for _, inner := range r.References {
		in, err := w.copyReference(ctx, s, inner)
		if err != nil {
			return ref, err
		}
		c.References = append(c.References, in)
	}
	if _, err := w.registry.Register(ctx, ref.Subject, c); err != nil {
		return ref, err
	}
	latest, err := w.registry.Latest(ctx, ref.Subject)
	ref.Version = latest.Version
	return ref, err
}
