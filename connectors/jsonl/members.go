package jsonl

import (
	"cmp"
	"slices"
)

// Reasons for which a line is rejected.
const (
	notJSON   = "not valid JSON"
	notObject = "not a JSON object"
	twice     = "a member is there twice"
	nested    = "an object or array where the column has single values"
	notNested = "not an object, where the column lies in one"
)

// scanner finds the members of records, checks that these are valid JSON, and
// notes what is to be changed.
type scanner struct {
	*carried
	plan    *plan
	records int
	p       []byte
	r       int // the record
	column  string
	reason  string
	name    []byte
}

func (s *scanner) fail(n *node, reason string) int {
	if s.reason == "" {
		s.reason = reason
		if n != nil && n.parent != nil {
			s.column = n.path()
		}
	}
	return -1
}

// record scans the record p[from:to].
func (s *scanner) record(root *node, r, from, to int) {
	whole := s.p
	s.p, s.r = whole[:to], r
	defer func() { s.p = whole }()
	if s.p[from] != '{' {
		if skipValue(s.p, from, 0) == to {
			s.fail(nil, notObject)
		}
		s.fail(nil, notJSON)
		return
	}
	edits := len(s.edits)
	end := s.object(root, from, 1, s.plan.carry)
	if end != to {
		// Whatever else is wrong, a line that is no JSON is called so.
		if s.reason == "" || skipValue(s.p, from, 0) != to {
			s.reason, s.column = notJSON, ""
		}
		return
	}
	if s.plan.carry {
		s.fill(edits)
	}
}

// object scans the object at p[i], whose members are those of n, and returns
// its end, or -1. Where edit is false nothing of it leaves in this way.
func (s *scanner) object(n *node, i, depth int, edit bool) int {
	p, start := s.p, i
	if depth > maxDepth {
		return s.fail(nil, notJSON)
	}
	s.stamps[n.id] = s.r + 1
	comma := false // some member before leaves
	i = space(p, i+1)
	if i < len(p) && p[i] == '}' {
		s.objects[n.id] = object{span{uint32(start), uint32(i + 1)}, false}
		return i + 1
	}
	from := start + 1 // of the member with the white space and, once comma is true, the comma before it
	for hint := 0; ; hint++ {
		if i >= len(p) || p[i] != '"' {
			return s.fail(nil, notJSON)
		}
		nameEnd := skipString(p, i)
		if nameEnd < 0 {
			return s.fail(nil, notJSON)
		}
		k := n.child(nameAt(p, i, nameEnd, &s.name), hint)
		if i = space(p, nameEnd); i >= len(p) || p[i] != ':' {
			return s.fail(nil, notJSON)
		}
		i = space(p, i+1)
		keep := k != nil && s.plan.nodes[k.id].keep
		end := -1
		if k == nil {
			if end = skipValue(p, i, depth); end < 0 {
				return s.fail(nil, notJSON)
			}
		} else if end = s.member(k, i, depth, edit && keep); end < 0 {
			return -1
		}
		i = space(p, end)
		if i >= len(p) || p[i] != ',' && p[i] != '}' {
			return s.fail(nil, notJSON)
		}
		switch {
		case !edit || keep:
		case comma:
			s.edits = append(s.edits, cutBetween(from, i))
		case p[i] == ',':
			s.edits = append(s.edits, cutBetween(from, i+1))
		default:
			s.edits = append(s.edits, cutBetween(from, i))
		}
		comma = comma || keep
		if p[i] == '}' {
			s.objects[n.id] = object{span{uint32(start), uint32(i + 1)}, comma}
			return i + 1
		}
		from = i
		if !comma {
			from = i + 1
		}
		i = space(p, i+1)
	}
}

func cutBetween(from, to int) edit {
	return edit{span: span{uint32(from), uint32(to)}, out: cutOut}
}

// member scans the value at p[i] of a member that the tree knows.
func (s *scanner) member(k *node, i, depth int, edit bool) int {
	p := s.p
	if s.stamps[k.id] == s.r+1 {
		return s.fail(k, twice)
	}
	s.stamps[k.id] = s.r + 1
	if k.leaf < 0 {
		switch {
		case i < len(p) && p[i] == '{':
			return s.object(k, i, depth+1, edit)
		case i < len(p) && p[i] == 'n':
			end := skipWord(p, i, "null")
			if end < 0 {
				return s.fail(nil, notJSON)
			}
			s.objects[k.id] = object{span: span{uint32(i), uint32(end)}}
			return end
		}
		return s.fail(k, notNested)
	}
	end := skipValue(p, i, depth)
	if end < 0 {
		return s.fail(nil, notJSON)
	}
	if !k.raw && (p[i] == '{' || p[i] == '[') {
		return s.fail(k, nested)
	}
	a := &s.plan.nodes[k.id]
	if a.slot >= 0 {
		s.values[a.slot*s.records+s.r] = span{uint32(i), uint32(end)}
	}
	if edit && a.out >= 0 {
		s.edits = append(s.edits, editOf(i, end, a.out))
	}
	return end
}

func editOf(from, to, out int) edit {
	return edit{span: span{uint32(from), uint32(to)}, out: int32(out)}
}

// fill notes where members of masked columns that the record lacks would go,
// since a mask may move a value there from another record: at the end of the
// innermost object that is there.
func (s *scanner) fill(edits int) {
	added := false
	for _, k := range s.plan.fills {
		if s.stamps[k.id] == s.r+1 {
			continue
		}
		n := k.parent
		for s.stamps[n.id] != s.r+1 {
			n = n.parent
		}
		o := s.objects[n.id]
		e := edit{out: int32(s.plan.nodes[k.id].out), into: n, comma: o.comma}
		if s.p[o.start] == '{' {
			e.span = span{o.end - 1, o.end - 1}
		} else {
			e.span, e.whole = o.span, true
		}
		s.edits = append(s.edits, e)
		added = true
	}
	if added {
		slices.SortStableFunc(s.edits[edits:], func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	}
}
