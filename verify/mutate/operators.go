package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// mutant is one change: the bytes from start to end of a file become another text.
type mutant struct {
	pkg        *pkg
	file       *ast.File
	at         token.Position
	start, end int
	with       string
	old        string
	operator   string
	kind       types.Type // of an expression; nil of a statement
	pair       [2]string  // arguments that are exchanged
	gap        string     // and what stands between them
}

func (m mutant) place() string { return fmt.Sprintf("%s:%d", relative(m.at.Filename), m.at.Line) }

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d %s", m.place(), m.at.Column, m.change())
}

// change is the mutant without its place.
func (m mutant) change() string {
	return fmt.Sprintf("%s: %s → %s", m.operator, oneLine(m.old), oneLine(m.with))
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 70 {
		text = string(r[:70]) + " …"
	}
	if text == "" {
		return "nothing"
	}
	return text
}

// mutants lists every change of a package, in the order of its source.
func (p *pkg) mutants() []mutant {
	var all []mutant
	for _, file := range p.files {
		w := &walk{pkg: p, file: file, text: p.text[file], base: p.fset.File(file.FileStart).Base()}
		ast.Inspect(file, w.visit)
		all = append(all, w.mutants...)
	}
	return all
}

// walk collects the mutants of a file.
type walk struct {
	*pkg
	file    *ast.File
	text    []byte
	base    int
	stack   []ast.Node
	mutants []mutant
}

func (w *walk) visit(n ast.Node) bool {
	if n == nil {
		w.stack = w.stack[:len(w.stack)-1]
		return true
	}
	if w.leftOut(n) {
		return false
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			w.add("negation", n, w.source(n.X))
		}
		if n.Op == token.SUB && w.info.Types[n.X].Value == nil {
			w.add("arithmetic", n, w.source(n.X))
		}
	case *ast.IfStmt:
		w.condition(n.Cond)
	case *ast.BasicLit:
		w.literal(n)
	case *ast.Ident:
		if o := w.info.Uses[n]; o == types.Universe.Lookup("true") {
			w.add("constant", n, "false")
		} else if o == types.Universe.Lookup("false") {
			w.add("constant", n, "true")
		}
	case *ast.AssignStmt:
		w.assignment(n)
	case *ast.IncDecStmt:
		w.delete(n)
		if _, post := w.parent().(*ast.ForStmt); !post {
			w.add("arithmetic", n, w.source(n.X)+map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok])
		}
	case *ast.ExprStmt:
		w.delete(n)
	case *ast.ReturnStmt:
		w.returned(n)
	case *ast.ForStmt:
		w.forLoop(n)
	case *ast.RangeStmt:
		w.rangeLoop(n)
	case *ast.CallExpr:
		w.swapped(n)
	}
	w.stack = append(w.stack, n)
	return true
}

func (w *walk) parent() ast.Node {
	if len(w.stack) == 0 {
		return nil
	}
	return w.stack[len(w.stack)-1]
}

func (w *walk) offsets(n ast.Node) (start, end int) {
	return int(n.Pos()) - w.base, int(n.End()) - w.base
}

func (w *walk) source(n ast.Node) string {
	start, end := w.offsets(n)
	return string(w.text[start:end])
}

func (w *walk) add(operator string, n ast.Node, with string) {
	start, end := w.offsets(n)
	m := mutant{pkg: w.pkg, file: w.file, at: w.fset.Position(n.Pos()), start: start, end: end, with: with,
		old: w.source(n), operator: operator}
	if e, ok := n.(ast.Expr); ok {
		m.kind = w.info.Types[e].Type
	}
	w.mutants = append(w.mutants, m)
}

// leftOut are the places where no test can or should tell a change: texts of errors and
// logs, panics, a capacity, comments, a number in a tag.
func (w *walk) leftOut(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.CommentGroup:
		return true
	case *ast.FuncDecl:
		return n.Recv != nil && (n.Name.Name == "Error" || n.Name.Name == "String" || n.Name.Name == "GoString")
	case *ast.CallExpr:
		switch f := n.Fun.(type) {
		case *ast.Ident:
			return f.Name == "panic" || f.Name == "make" && len(n.Args) == 3 && w.capacity(n)
		case *ast.SelectorExpr:
			o := w.info.Uses[f.Sel]
			if o == nil || o.Pkg() == nil {
				return false
			}
			switch path := o.Pkg().Path(); path {
			case "fmt":
				return f.Sel.Name == "Errorf"
			case "errors":
				return f.Sel.Name == "New"
			case "log", "log/slog", "github.com/rs/zerolog":
				return true
			}
		}
	}
	return false
}

// capacity walks over make's type and length but not its capacity.
func (w *walk) capacity(n *ast.CallExpr) bool {
	w.stack = append(w.stack, n)
	ast.Inspect(n.Args[1], w.visit)
	w.stack = w.stack[:len(w.stack)-1]
	return true
}

// others are what an operator becomes, by the name of the change.
var others = map[token.Token][]struct{ operator, with string }{
	token.LSS:     {{"boundary", "<="}, {"negation", ">="}},
	token.LEQ:     {{"boundary", "<"}, {"negation", ">"}},
	token.GTR:     {{"boundary", ">="}, {"negation", "<="}},
	token.GEQ:     {{"boundary", ">"}, {"negation", "<"}},
	token.EQL:     {{"negation", "!="}},
	token.NEQ:     {{"negation", "=="}},
	token.LAND:    {{"and-or", "||"}},
	token.LOR:     {{"and-or", "&&"}},
	token.ADD:     {{"arithmetic", "-"}},
	token.SUB:     {{"arithmetic", "+"}},
	token.MUL:     {{"arithmetic", "/"}},
	token.QUO:     {{"arithmetic", "*"}},
	token.REM:     {{"arithmetic", "*"}},
	token.AND:     {{"arithmetic", "|"}},
	token.OR:      {{"arithmetic", "&"}},
	token.XOR:     {{"arithmetic", "|"}},
	token.AND_NOT: {{"arithmetic", "&"}},
	token.SHL:     {{"arithmetic", ">>"}},
	token.SHR:     {{"arithmetic", "<<"}},
}

func (w *walk) binary(n *ast.BinaryExpr) {
	if n.Op == token.ADD && w.isString(n) {
		return
	}
	for _, other := range others[n.Op] {
		if other.operator == "boundary" && w.ofCapacity(n.X) {
			continue // room that just is enough, or is made anew
		}
		left, right := w.source(n.X), w.source(n.Y)
		// The tokens bind as before: what binds less strongly is put in brackets.
		if y, ok := n.Y.(*ast.BinaryExpr); ok && y.Op.Precedence() <= n.Op.Precedence()+1 {
			right = "(" + right + ")"
		}
		if x, ok := n.X.(*ast.BinaryExpr); ok && x.Op.Precedence() != n.Op.Precedence() {
			left = "(" + left + ")"
		}
		with := left + " " + other.with + " " + right
		if _, ok := w.parent().(*ast.BinaryExpr); ok {
			with = "(" + with + ")"
		}
		w.add(other.operator, n, with)
	}
}

// ofCapacity says whether an expression is the room of a slice.
func (w *walk) ofCapacity(n ast.Expr) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && w.info.Uses[name] == types.Universe.Lookup("cap")
}

func (w *walk) isString(n ast.Expr) bool {
	t := w.info.Types[n].Type
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

// condition negates an expression that is not a comparison; comparisons negate themselves.
func (w *walk) condition(n ast.Expr) {
	switch n := n.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr:
		return
	default:
		w.add("negation", n, "!"+w.source(n))
	}
}

func (w *walk) literal(n *ast.BasicLit) {
	switch w.parent().(type) {
	case *ast.Field, *ast.ArrayType: // a tag, an array's length
		return
	}
	if w.noMode(n) || w.longWait(n) {
		return
	}
	switch n.Kind {
	case token.INT:
		v, err := strconv.ParseInt(n.Value, 0, 64)
		if err != nil {
			return
		}
		more, less := w.matters(n)
		if more {
			w.add("constant", n, strconv.FormatInt(v+1, 10))
		}
		if v > 0 && less {
			w.add("constant", n, strconv.FormatInt(v-1, 10))
		}
	case token.FLOAT:
		v, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			return
		}
		if v+1 != v { // else the same number is written
			w.add("constant", n, strconv.FormatFloat(v+1, 'g', -1, 64))
		}
		if v-1 != v {
			w.add("constant", n, "("+strconv.FormatFloat(v-1, 'g', -1, 64)+")")
		}
	}
}

// noMode says whether a literal is the mode of a file that is opened and never made: of
// OpenFile without O_CREATE, which does not look at it.
func (w *walk) noMode(n *ast.BasicLit) bool {
	call, ok := w.parent().(*ast.CallExpr)
	if !ok || len(call.Args) != 3 || call.Args[2] != ast.Expr(n) || n.Value != "0" ||
		strings.Contains(w.source(call.Args[1]), "O_CREATE") {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && strings.EqualFold(f.Sel.Name, "OpenFile")
}

// longWait reports whether a number is that of five units of time or more (10 * time.Second):
// one of them more or less is a matter of taste.
func (w *walk) longWait(n *ast.BasicLit) bool {
	product, ok := w.parent().(*ast.BinaryExpr)
	if !ok || product.Op != token.MUL || product.X != ast.Expr(n) {
		return false
	}
	unit, ok := product.Y.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	o := w.info.Uses[unit.Sel]
	v, err := strconv.ParseInt(n.Value, 0, 64)
	return err == nil && v >= 5 && o != nil && o.Pkg() != nil && o.Pkg().Path() == "time"
}

// matters says whether one more and one less than an argument may be told from it. To
// math.Inf only the sign matters, of which 0 has that of 1; to math.IsInf it is whether
// there is one; strconv knows 32 bits and others. So many cores, 0 or 1, find the same.
func (w *walk) matters(n ast.Node) (more, less bool) {
	at := len(w.stack) - 1
	negative := false
	if u, ok := w.stack[at].(*ast.UnaryExpr); ok && u.Op == token.SUB && at > 0 {
		negative, at = true, at-1
	}
	call, ok := w.stack[at].(*ast.CallExpr)
	if !ok {
		return true, true
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return true, true
	}
	o := w.info.Uses[f.Sel]
	if o == nil || o.Pkg() == nil {
		return true, true
	}
	switch o.Pkg().Path() + "." + o.Name() {
	case "math.Inf":
		return false, negative
	case "math.IsInf":
		return w.source(n) == "0", true
	case "strconv.ParseFloat":
		bits := n == call.Args[1] && w.source(n) == "64"
		return !bits, !bits
	case "runtime.GOMAXPROCS":
		return false, false
	}
	return true, true
}

// inBlock says whether a statement stands in a list of statements, where it can be
// taken out.
func (w *walk) inBlock() bool {
	switch w.parent().(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

func (w *walk) delete(n ast.Stmt) {
	if c, ok := w.parent().(*ast.CommClause); ok && c.Comm == n {
		return
	}
	if e, ok := n.(*ast.ExprStmt); ok {
		if call, ok := e.X.(*ast.CallExpr); ok && w.leftOut(call) {
			return
		}
	}
	if w.inBlock() {
		w.add("deletion", n, "")
	}
}

func (w *walk) assignment(n *ast.AssignStmt) {
	if n.Tok == token.DEFINE {
		return
	}
	if len(n.Lhs) == 1 {
		if id, ok := n.Lhs[0].(*ast.Ident); ok && id.Name == "_" {
			return
		}
	}
	w.delete(n)
	if len(n.Lhs) != 1 || w.isString(n.Lhs[0]) {
		return
	}
	with, ok := map[token.Token]string{
		token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "/=", token.QUO_ASSIGN: "*=",
		token.REM_ASSIGN: "*=", token.AND_ASSIGN: "|=", token.OR_ASSIGN: "&=", token.XOR_ASSIGN: "|=",
		token.SHL_ASSIGN: ">>=", token.SHR_ASSIGN: "<<=",
	}[n.Tok]
	if ok {
		w.add("arithmetic", n, w.source(n.Lhs[0])+" "+with+" "+w.source(n.Rhs[0]))
	}
}

// returned takes the error out of a return.
func (w *walk) returned(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		return
	}
	last := n.Results[len(n.Results)-1]
	t := w.info.Types[last]
	if t.Type == nil || t.IsNil() ||
		!types.Implements(t.Type, types.Universe.Lookup("error").Type().Underlying().(*types.Interface)) {
		return
	}
	w.add("error to nil", last, "nil")
}

// forLoop and rangeLoop leave out the last place.
func (w *walk) forLoop(n *ast.ForStmt) {
	if c, ok := n.Cond.(*ast.BinaryExpr); ok && (c.Op == token.LSS || c.Op == token.LEQ) {
		w.add("loop bound", c.Y, "("+w.source(c.Y)+")-1")
	}
}

func (w *walk) rangeLoop(n *ast.RangeStmt) {
	t := w.info.Types[n.X].Type
	if t == nil {
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		switch n.X.(type) {
		case *ast.Ident, *ast.SelectorExpr:
			x := w.source(n.X)
			w.add("loop bound", n.X, x+"[:max(0, len("+x+")-1)]")
		}
	case *types.Basic:
		if u.Info()&types.IsInteger != 0 {
			w.add("loop bound", n.X, "("+w.source(n.X)+")-1")
		}
	}
}

// swapped exchanges two arguments that stand side by side and are of the same type.
func (w *walk) swapped(n *ast.CallExpr) {
	fun, ok := w.info.Types[n.Fun].Type.(*types.Signature)
	if !ok || n.Ellipsis.IsValid() {
		return
	}
	for i := 0; i+1 < len(n.Args) && i+1 < fun.Params().Len(); i++ {
		if fun.Variadic() && i+1 == fun.Params().Len()-1 {
			break
		}
		a, b := w.source(n.Args[i]), w.source(n.Args[i+1])
		if a == b || !types.Identical(fun.Params().At(i).Type(), fun.Params().At(i+1).Type()) || w.commutes(n.Fun) {
			continue
		}
		start, _ := w.offsets(n.Args[i])
		_, end := w.offsets(n.Args[i+1])
		_, gap := w.offsets(n.Args[i])
		next, _ := w.offsets(n.Args[i+1])
		w.mutants = append(w.mutants,
			mutant{pkg: w.pkg, file: w.file, at: w.fset.Position(n.Args[i].Pos()), start: start, end: end,
				with: b + string(w.text[gap:next]) + a, old: string(w.text[start:end]), operator: "swapped arguments",
				kind: fun.Params().At(i).Type(), pair: [2]string{a, b}, gap: string(w.text[gap:next])})
	}
}

// commutes names functions of which the order of arguments does not matter.
func (w *walk) commutes(fun ast.Expr) bool {
	name := w.source(fun)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	switch name {
	case "Max", "Min", "max", "min", "Equal", "DeepEqual", "EqualFold", "Hypot", "Mul64", "Dot", "EqualFunc":
		return true
	}
	return false
}
