package figure

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// point is a place in a picture; y runs downwards.
type point struct{ x, y float64 }

// path is a list of polylines; curves are flattened when they are added.
type path []polyline

type polyline struct {
	points []point
	closed bool
}

func (p *path) moveTo(x, y float64) { *p = append(*p, polyline{points: []point{{x, y}}}) }

func (p *path) lineTo(x, y float64) {
	last := &(*p)[len(*p)-1]
	last.points = append(last.points, point{x, y})
}

func (p *path) close() { (*p)[len(*p)-1].closed = true }

func (p *path) rect(x, y, w, h float64) {
	p.moveTo(x, y)
	p.lineTo(x+w, y)
	p.lineTo(x+w, y+h)
	p.lineTo(x, y+h)
	p.close()
}

// circleSides is the number of sides with which circles of the size of marks look
// smooth at four pixels per unit.
const circleSides = 48

func (p *path) circle(x, y, r float64) {
	for i := range circleSides {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / circleSides)
		if i == 0 {
			p.moveTo(x+r*cos, y+r*sin)
		} else {
			p.lineTo(x+r*cos, y+r*sin)
		}
	}
	p.close()
}

// onto returns the path in pixels, after a shift to an origin.
func (p path) onto(origin point, scale float64) path {
	out := make(path, len(p))
	for i, l := range p {
		out[i] = polyline{points: make([]point, len(l.points)), closed: l.closed}
		for k, q := range l.points {
			out[i].points[k] = point{(q.x + origin.x) * scale, (q.y + origin.y) * scale}
		}
	}
	return out
}

func ceil(v float64) int { return int(math.Ceil(v)) }

// stroked returns the outline of a path's lines, with round joins and flat ends. Its
// pieces overlap and have the same orientation, so that filling unites them.
func (p path) stroked(width float64, dashes []float64) path {
	var out path
	for _, l := range p {
		pieces := []polyline{l}
		if len(dashes) > 0 {
			pieces = l.dashed(dashes)
		}
		for _, piece := range pieces {
			out.stroke(piece, width/2)
		}
	}
	return out
}

func (p *path) stroke(l polyline, half float64) {
	pts := l.points
	if l.closed && len(pts) > 1 && pts[0] != pts[len(pts)-1] {
		pts = append(pts[:len(pts):len(pts)], pts[0])
	}
	for i := 1; i < len(pts); i++ {
		a, b := pts[i-1], pts[i]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		if length == 0 {
			continue
		}
		dx, dy := (b.x-a.x)/length*half, (b.y-a.y)/length*half
		p.moveTo(a.x+dy, a.y-dx)
		p.lineTo(b.x+dy, b.y-dx)
		p.lineTo(b.x-dy, b.y+dx)
		p.lineTo(a.x-dy, a.y+dx)
		p.close()
		if i+1 < len(pts) || l.closed {
			p.join(b, half)
		}
	}
}

// join adds a disc with the same orientation as the segments beside it.
func (p *path) join(c point, r float64) {
	const sides = 12
	for i := range sides {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / sides)
		if i == 0 {
			p.moveTo(c.x+r*cos, c.y+r*sin)
		} else {
			p.lineTo(c.x+r*cos, c.y+r*sin)
		}
	}
	p.close()
}

// dashed cuts a line into its dashes.
func (l polyline) dashed(dashes []float64) []polyline {
	pts := l.points
	if l.closed && len(pts) > 1 {
		pts = append(pts[:len(pts):len(pts)], pts[0])
	}
	if len(dashes)%2 == 1 {
		dashes = append(dashes[:len(dashes):len(dashes)], dashes...)
	}
	var out []polyline
	k, left := 0, dashes[0]
	current := polyline{points: []point{pts[0]}}
	for i := 1; i < len(pts); i++ {
		a, b := pts[i-1], pts[i]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		for at := 0.0; at < length; {
			step := math.Min(left, length-at)
			at += step
			left -= step
			here := point{a.x + (b.x-a.x)*at/length, a.y + (b.y-a.y)*at/length}
			if k%2 == 0 {
				current.points = append(current.points, here)
			}
			if left > 0 {
				continue
			}
			if k%2 == 0 {
				out = append(out, current)
			}
			k = (k + 1) % len(dashes)
			left = dashes[k]
			current = polyline{points: []point{here}}
		}
	}
	if k%2 == 0 && len(current.points) > 1 {
		out = append(out, current)
	}
	return out
}

// raster is a picture in pixels that is being drawn. Its elements are styled by their
// classes and by those of the surrounding groups.
type raster struct {
	*image.RGBA
	rasteriser vector.Rasterizer
	scale      float64
	groups     []group // the outermost first
}

// group is an open group.
type group struct {
	style   style
	classes []string
	origin  point
}

// mostPixels is the greatest number of pixels of a raster, to limit its memory.
const mostPixels = 64 << 20

// newRaster returns an empty picture of width × height units with scale pixels per
// unit. It returns an error for less than one pixel or more than 64 million.
func newRaster(width, height, scale float64) (*raster, error) {
	w, h := width*scale, height*scale
	if !(w >= 1 && h >= 1 && w*h <= mostPixels) {
		return nil, fmt.Errorf("png: must have 1 to %d pixels, got %.4g × %.4g", mostPixels, w, h)
	}
	return &raster{RGBA: image.NewRGBA(image.Rect(0, 0, int(w+0.5), int(h+0.5))), scale: scale,
		groups: []group{{style: initial}}}, nil
}

func (r *raster) encode(w io.Writer) error {
	if err := png.Encode(w, r.RGBA); err != nil {
		return fmt.Errorf("png: %w", err)
	}
	return nil
}

func (r *raster) inner() *group { return &r.groups[len(r.groups)-1] }

// style returns the style of an element of the innermost group.
func (r *raster) style(name, class string) style {
	open := make([][]string, len(r.groups))
	for i := range r.groups {
		open[i] = r.groups[i].classes
	}
	return styled(r.inner().style, name, strings.Fields(class), open)
}

func (r *raster) enter(name, class string) {
	r.groups = append(r.groups,
		group{style: r.style(name, class), classes: strings.Fields(class), origin: r.inner().origin})
}

func (r *raster) leave() { r.groups = r.groups[:len(r.groups)-1] }

// origin moves the innermost group.
func (r *raster) origin(x, y float64) {
	g := r.inner()
	g.origin.x += x
	g.origin.y += y
}

// draw paints an element, limited to clip if it is not nil.
func (r *raster) draw(name, class string, p path, clip *area) {
	r.paint(p, r.style(name, class), clip)
}

func (r *raster) text(class, anchor string, x, y float64, s string) {
	look := r.style("text", class)
	r.paint(textPath(s, anchor, x, y, look), look, nil)
}

func (r *raster) paint(p path, s style, clip *area) {
	origin := r.inner().origin
	within := r.Bounds()
	if clip != nil {
		within = within.Intersect(clip.pixels(origin, r.scale))
	}
	p = p.onto(origin, r.scale)
	fill := func() { r.fill(p, s.fill, s.fillOpacity, within) }
	stroke := func() {
		dashes := slices.Clone(s.dashes)
		for i := range dashes {
			dashes[i] *= r.scale
		}
		r.fill(p.stroked(s.strokeWidth*r.scale, dashes), s.stroke, s.strokeOpacity, within)
	}
	if s.strokeFirst {
		stroke()
		fill()
		return
	}
	fill()
	stroke()
}

// fill paints the interior of a path, within clip.
func (r *raster) fill(p path, paint color.NRGBA, opacity float64, clip image.Rectangle) {
	paint.A = uint8(float64(paint.A)*opacity + 0.5)
	if paint.A == 0 || len(p) == 0 {
		return
	}
	lo, hi := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, l := range p {
		for _, q := range l.points {
			lo.x, lo.y = math.Min(lo.x, q.x), math.Min(lo.y, q.y)
			hi.x, hi.y = math.Max(hi.x, q.x), math.Max(hi.y, q.y)
		}
	}
	// The rasteriser works on the part of the picture that the path covers, because its
	// cost is proportional to the area. Coordinates far outside the picture are limited
	// first, because nothing of them is visible.
	far := func(v float64) int { return int(math.Max(-1e6, math.Min(1e6, v))) }
	box := image.Rect(far(math.Floor(lo.x)), far(math.Floor(lo.y)), far(math.Ceil(hi.x))+1,
		far(math.Ceil(hi.y))+1).Intersect(clip)
	if box.Empty() {
		return
	}
	r.rasteriser.Reset(box.Dx(), box.Dy())
	for _, l := range p {
		for i, q := range l.points {
			x, y := float32(q.x-float64(box.Min.X)), float32(q.y-float64(box.Min.Y))
			if i == 0 {
				r.rasteriser.MoveTo(x, y)
			} else {
				r.rasteriser.LineTo(x, y)
			}
		}
		r.rasteriser.ClosePath()
	}
	r.rasteriser.Draw(r.RGBA, box, image.NewUniform(paint), image.Point{})
}

// The fonts of rasters. The Go fonts have the exponents, signs and arrows of the
// figures.
var fonts = sync.OnceValue(func() (pair [2]*sfnt.Font) {
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		f, err := sfnt.Parse(ttf)
		if err != nil {
			panic("figure: " + err.Error()) // the font is part of the program
		}
		pair[i] = f
	}
	return pair
})

// textPath returns the outline of a text. A character that the font does not have is
// shown as the font's box.
func textPath(text, anchor string, x, y float64, s style) path {
	f := fonts()[0]
	if s.bold {
		f = fonts()[1]
	}
	// Outlines are computed at 64 times their size and divided, so that rounding in the
	// fixed-point numbers of fonts is not visible.
	const fine = 64
	// The letters of the Go fonts are wider than those of the fonts for which the
	// figures are laid out.
	const narrower = 0.89
	size := fixed.Int26_6(s.size * narrower * 64 * fine)
	var b sfnt.Buffer
	var p path
	at := 0.0
	to := func(v fixed.Point26_6) point { return point{at + float64(v.X)/64/fine, float64(v.Y) / 64 / fine} }
	for _, c := range stand.Replace(text) {
		glyph, err := f.GlyphIndex(&b, c)
		if err != nil {
			continue
		}
		segments, err := f.LoadGlyph(&b, glyph, size, nil)
		if err != nil {
			continue
		}
		var here point
		for _, g := range segments {
			switch g.Op {
			case sfnt.SegmentOpMoveTo:
				here = to(g.Args[0])
				p.moveTo(here.x, here.y)
				p.close()
			case sfnt.SegmentOpLineTo:
				here = to(g.Args[0])
				p.lineTo(here.x, here.y)
			case sfnt.SegmentOpQuadTo:
				u, v := to(g.Args[0]), to(g.Args[1])
				const steps = 6
				for i := 1; i <= steps; i++ {
					t := float64(i) / steps
					p.lineTo((1-t)*(1-t)*here.x+2*t*(1-t)*u.x+t*t*v.x, (1-t)*(1-t)*here.y+2*t*(1-t)*u.y+t*t*v.y)
				}
				here = v
			}
		}
		advance, err := f.GlyphAdvance(&b, glyph, size, font.HintingNone)
		if err != nil {
			continue
		}
		at += float64(advance) / 64 / fine
	}
	shift := map[string]float64{"middle": at / 2, "end": at}[anchor]
	for _, l := range p {
		for i := range l.points {
			l.points[i].x += x - shift
			l.points[i].y += y
		}
	}
	return p
}

// stand replaces characters that the fonts do not have by ones that they have.
var stand = strings.NewReplacer("✗", "×", "✓", "√", "\u00a0", " ", "\u2009", " ", "\u2068", "", "\u2069", "")
