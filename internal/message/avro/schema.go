package avro

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	avro "github.com/twmb/avro"

	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

type kind uint8

const (
	kindNull kind = iota
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindFixed
	kindEnum
	kindArray
	kindMap
	kindUnion
	kindRecord
)

var primitives = map[string]kind{
	"null": kindNull, "boolean": kindBoolean, "int": kindInt, "long": kindLong, "float": kindFloat,
	"double": kindDouble, "bytes": kindBytes, "string": kindString,
}

// node is a type of a schema in the form for walking its values. A type that contains
// itself is a cycle of nodes.
type node struct {
	kind     kind
	min      int // fewest bytes that a value has
	size     int // of fixed, in bytes
	symbols  []string
	texts    [][]byte // the symbols
	ordinals map[string]int64
	elem     *node // of an array's items, of a map's values
	branches []*node
	fields   []member
	arrow    arrow.DataType // of the values, apart from the nulls of a union
	weight   int            // number of types in arrow
}

type member struct {
	name string
	node *node
}

// value returns the type of a field's values other than null. A field with exactly one
// such type, in a union or not, is decoded as that type. null and branch are the
// numbers of the two branches in the union, -1 if there is none.
func (n *node) value() (v *node, null, branch int) {
	if n.kind != kindUnion {
		return n, -1, -1
	}
	null, branch = -1, -1
	for i, b := range n.branches {
		switch {
		case b.kind == kindNull:
			null = i
		case branch >= 0:
			return n, -1, -1 // a union of several types
		default:
			branch = i
		}
	}
	if branch < 0 {
		return n.branches[null], -1, null // a union of null only
	}
	return n.branches[branch], null, branch
}

// nullable reports whether a field of this type may be null.
func (n *node) nullable() bool {
	if n.kind != kindUnion {
		return n.kind == kindNull
	}
	for _, b := range n.branches {
		if b.kind == kindNull {
			return true
		}
	}
	return false
}

// schemaError is the reason why a schema is not usable; it contains no values.
type schemaError struct{ reason string }

func (e *schemaError) Error() string { return e.reason }

func unusable(format string, args ...any) error {
	reason := []rune(fmt.Sprintf(format, args...))
	const most = 400 // the message of the library may quote the schema
	if len(reason) > most {
		reason = append(reason[:most], '…')
	}
	return &schemaError{string(reason)}
}

// record is a parsed schema whose type is a record.
type record struct {
	root *avro.SchemaNode // self-contained
	node *node
}

// parse reads a schema of the registry and the schemas that it refers to. A
// *schemaError means that it is not usable; any other error is the registry's.
func parse(ctx context.Context, client *registry.Client, s registry.Schema) (*record, error) {
	if s.Type != registry.Avro {
		return nil, unusable("its schema must be of type AVRO, and is of type %s", s.Type)
	}
	references, err := client.Resolve(ctx, s)
	if err != nil {
		var e *registry.Error
		if errors.As(err, &e) && (e.Kind == registry.NotFound || e.Kind == registry.Unreadable) {
			return nil, unusable("its schema refers to another that cannot be had: %v", err)
		}
		return nil, err
	}
	var cache avro.SchemaCache
	for _, r := range references {
		if _, err := cache.Parse(r.Text); err != nil {
			return nil, unusable("its schema refers to %s, which is not valid: %v", r.Name, err)
		}
	}
	parsed, err := cache.Parse(s.Text)
	if err != nil {
		return nil, unusable("its schema is not valid: %v", err)
	}
	return newRecord(parsed)
}

// newRecord compiles a parsed schema.
func newRecord(parsed *avro.Schema) (*record, error) {
	// A schema built from the tree contains the definitions of all types that it refers
	// to.
	whole, err := parsed.Root().Schema()
	if err != nil {
		return nil, unusable("its schema is not valid: %v", err)
	}
	root := whole.Root()
	c := compiler{named: map[string]*node{}}
	n, err := c.compile(root, "")
	if err != nil {
		return nil, err
	}
	if n.kind != kindRecord {
		return nil, unusable("its schema must be a record")
	}
	if err := c.measure(); err != nil {
		return nil, err
	}
	weight := 0
	for _, f := range n.fields {
		c.describe(f.node)
		weight += f.node.weight
	}
	if weight > maxNodes {
		return nil, errTooManyTypes
	}
	return &record{root: root, node: n}, nil
}

// compiler converts a schema's tree to nodes.
type compiler struct {
	named map[string]*node
	all   []*node
	open  map[*node]bool // by describe
}

// maxNodes is the greatest number of types of a schema.
const maxNodes = 20000

var errTooManyTypes = &schemaError{
	fmt.Sprintf("its schema must not have more than %d types, each counted as often as it stands inside others", maxNodes)}

func (c *compiler) compile(s *avro.SchemaNode, namespace string) (*node, error) {
	if len(c.all) >= maxNodes {
		return nil, errTooManyTypes
	}
	n := &node{}
	var err error
	switch s.Type {
	case "record", "error":
		n.kind = kindRecord
		err = c.fields(n, s, c.define(n, s))
	case "enum":
		n.kind, n.symbols = kindEnum, s.Symbols
		n.ordinals = make(map[string]int64, len(s.Symbols))
		for i, symbol := range s.Symbols {
			n.ordinals[symbol] = int64(i)
			n.texts = append(n.texts, []byte(symbol))
		}
		c.define(n, s)
	case "fixed":
		n.kind, n.size = kindFixed, s.Size
		c.define(n, s)
	case "array":
		n.kind = kindArray
		n.elem, err = c.compile(s.Items, namespace)
	case "map":
		n.kind = kindMap
		n.elem, err = c.compile(s.Values, namespace)
	case "union":
		n.kind = kindUnion
		err = c.branches(n, s, namespace)
	default:
		k, primitive := primitives[s.Type]
		if !primitive {
			return c.reference(s, namespace)
		}
		n.kind = k
	}
	if err != nil {
		return nil, err
	}
	n.arrow = simple(n, s)
	c.all = append(c.all, n)
	return n, nil
}

// define registers the name of a type before its parts are compiled, because these may
// refer to it. It returns the namespace of the type's parts.
func (c *compiler) define(n *node, s *avro.SchemaNode) string {
	name := s.Name
	if name != "" && !strings.Contains(name, ".") && s.Namespace != "" {
		name = s.Namespace + "." + name
	}
	c.named[name] = n
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i]
	}
	return ""
}

func (c *compiler) fields(n *node, s *avro.SchemaNode, namespace string) error {
	for i := range s.Fields {
		of, err := c.compile(&s.Fields[i].Type, namespace)
		if err != nil {
			return err
		}
		n.fields = append(n.fields, member{name: s.Fields[i].Name, node: of})
	}
	return nil
}

func (c *compiler) branches(n *node, s *avro.SchemaNode, namespace string) error {
	for i := range s.Branches {
		b, err := c.compile(&s.Branches[i], namespace)
		if err != nil {
			return err
		}
		n.branches = append(n.branches, b)
	}
	if len(n.branches) == 0 || len(n.branches) > math.MaxInt8 {
		return unusable("its schema has a union of %d types, and must have 1 to %d", len(n.branches), math.MaxInt8)
	}
	return nil
}

// reference returns the type with a name.
func (c *compiler) reference(s *avro.SchemaNode, namespace string) (*node, error) {
	for _, name := range []string{namespace + "." + s.Type, s.Type} {
		if other := c.named[name]; other != nil {
			return other, nil
		}
	}
	return nil, unusable("its schema has a type %s that is not defined", s.Type)
}

const endless = 1 << 30

// measure computes the least number of bytes of each type. It iterates until nothing
// changes, because types may contain themselves.
func (c *compiler) measure() error {
	for _, n := range c.all {
		n.min = endless
	}
	for changed := true; changed; {
		changed = false
		for _, n := range c.all {
			if m := n.fewest(); m < n.min {
				n.min, changed = m, true
			}
		}
	}
	for _, n := range c.all {
		if n.min >= endless {
			return unusable("its schema has a record that contains itself without end")
		}
	}
	return nil
}

func (n *node) fewest() int {
	switch n.kind {
	case kindNull:
		return 0
	case kindFloat:
		return 4
	case kindDouble:
		return 8
	case kindFixed:
		return min(n.size, endless-1)
	case kindUnion:
		least := endless
		for _, b := range n.branches {
			least = min(least, b.min)
		}
		return min(least+1, endless)
	case kindRecord:
		sum := 0
		for _, f := range n.fields {
			sum = min(sum+f.node.min, endless)
		}
		return sum
	}
	return 1
}
