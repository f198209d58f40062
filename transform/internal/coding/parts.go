package coding

// inOrder returns the words of a table in the order of their codes.
func (t *wordTable) inOrder() []uint64 {
	list := make([]uint64, t.n)
	for i, code := range t.codes {
		if code > 0 {
			list[code-1] = t.words[i]
		}
	}
	return list
}

// Pack writes what a grouping has seen, in the order of its codes.
func (g *Grouping) Pack(p *Packer) {
	p.Number(uint64(len(g.columns)))
	for i := range g.columns {
		c := &g.columns[i]
		p.words(c.words.inOrder())
		texts := make([]string, len(c.texts))
		for text, code := range c.texts {
			texts[code-1] = text
		}
		p.Number(uint64(len(texts)))
		for _, text := range texts {
			PackBytes(p, text)
		}
	}
	for i := range g.pairs {
		p.words(g.pairs[i].inOrder())
	}
}

// Merge adds what another grouping has seen, in the order in which it was seen, as if after all
// that this one has seen. For each combination of keys and attribute of the other, it returns
// the code here, and the other's code of its keys.
func (g *Grouping) Merge(u *Unpacker, columns int) (m MergedCodes) {
	if n := u.Count(2); n == 0 {
		return m // it has seen no record
	} else if n != columns {
		u.Fail()
		return m
	}
	g.widen(columns)
	codes := make([][]int32, columns)
	for i := range codes {
		codes[i] = g.columns[i].merge(u)
	}
	m.Combo = codes[0]
	for i := range g.pairs {
		m.group = m.Combo
		words := u.words()
		m.Combo, m.Keys = make([]int32, len(words)), make([]uint32, len(words))
		for k, w := range words {
			left, right := w>>32, uint64(uint32(w))
			if left >= uint64(len(m.group)) || right >= uint64(len(codes[i+1])) {
				u.Fail()
				return MergedCodes{}
			}
			m.Keys[k] = uint32(left)
			m.Combo[k] = g.pairs[i].code(uint64(uint32(m.group[left]))<<32 | uint64(uint32(codes[i+1][right])))
		}
	}
	return m
}

// MergedCodes are the codes here of what another grouping has seen.
type MergedCodes struct {
	group []int32  // by the other's code of keys
	Combo []int32  // by the other's code of keys with the attribute
	Keys  []uint32 // by the other's code of keys with the attribute: its code of the keys
}

// GroupOf reads the other's code of the keys of its combination k, and returns the code here.
func (m *MergedCodes) GroupOf(u *Unpacker, k int) int32 {
	if g := u.Number(); k < len(m.Keys) && g == uint64(m.Keys[k]) {
		return m.group[g]
	}
	u.Fail() // the combination has other keys
	return -1
}

// merge returns the codes here of another coder's values, by their codes there. 0 is null.
func (c *Coder) merge(u *Unpacker) []int32 {
	codes := []int32{0}
	for _, w := range u.words() {
		codes = append(codes, c.word(w))
	}
	n := u.Count(1)
	if n > 0 && c.words.n > 0 || len(codes) > 1 && len(c.texts) > 0 {
		u.Fail() // all values of a column have the same form
		return codes
	}
	for range n {
		codes = append(codes, c.anyText(u.Bytes()))
	}
	return codes
}

// InAll returns one word for each combination of keys and attribute.
func (g *Grouping) InAll() []uint64 {
	if len(g.pairs) == 0 {
		return nil
	}
	return g.pairs[len(g.pairs)-1].inOrder()
}
