package figure

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"
)

// WritePNG rasterises a figure of this package, as a file of its own
// (SVGOptions.Standalone) in its light colours, with scale pixels to the SVG's
// unit. It reads the elements and the styles that this package writes, so that
// both pictures are the same one; it is no reader of any other SVG. It returns an
// error for an element that it does not know, and for more than 64 million pixels.
func WritePNG(w io.Writer, svg []byte, scale float64) error {
	img, err := rasterise(svg, scale)
	if err != nil {
		return fmt.Errorf("png: %w", err)
	}
	if err := png.Encode(w, img); err != nil {
		return fmt.Errorf("png: %w", err)
	}
	return nil
}

// mostPixels bounds the memory of a raster.
const mostPixels = 64 << 20

// node is an open element while the SVG is read.
type node struct {
	name    string
	classes []string
	style   style
	attr    map[string]string
	text    string
}

func (n *node) number(name string) float64 {
	v, err := strconv.ParseFloat(n.attr[name], 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	return v
}

// raster is a picture under way.
type raster struct {
	canvas *canvas
	sheet  sheet
	scale  float64
	open   []*node
	clips  map[string]image.Rectangle
}

func rasterise(svg []byte, scale float64) (*image.RGBA, error) {
	r := raster{scale: scale, clips: map[string]image.Rectangle{}}
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("SVG: %w", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := r.start(token); err != nil {
				return nil, err
			}
		case xml.CharData:
			if len(r.open) > 0 {
				r.open[len(r.open)-1].text += string(token)
			}
		case xml.EndElement:
			if err := r.end(); err != nil {
				return nil, err
			}
		}
	}
	if r.canvas == nil {
		return nil, fmt.Errorf("SVG: has no <svg>")
	}
	return r.canvas.RGBA, nil
}

func (r *raster) start(e xml.StartElement) error {
	n := &node{name: e.Name.Local, attr: map[string]string{}, style: initial}
	for _, a := range e.Attr {
		n.attr[a.Name.Local] = a.Value
	}
	n.classes = strings.Fields(n.attr["class"])
	if k := len(r.open); k > 0 {
		n.style = r.open[k-1].style.inherited()
	} else {
		width, height := n.number("width")*r.scale, n.number("height")*r.scale
		if n.name != "svg" || !(width >= 1 && height >= 1 && width*height <= mostPixels) {
			return fmt.Errorf("SVG: must be an <svg> of 1 to %d pixels", mostPixels)
		}
		r.canvas = &canvas{RGBA: image.NewRGBA(image.Rect(0, 0, int(width+0.5), int(height+0.5)))}
	}
	r.open = append(r.open, n)
	return r.sheet.apply(r.open)
}

// end draws an element when it is whole, since a text's words come after its tag.
func (r *raster) end() error {
	n := r.open[len(r.open)-1]
	r.open = r.open[:len(r.open)-1]
	if n.name == "style" {
		var err error
		r.sheet, err = parseSheet(n.text)
		return err
	}
	var parent string
	if k := len(r.open); k > 0 {
		parent = r.open[k-1].name
	}
	if parent == "clipPath" {
		x, y := n.number("x")*r.scale, n.number("y")*r.scale
		r.clips[r.open[len(r.open)-1].attr["id"]] = image.Rect(int(x), int(y),
			int(math.Ceil(x+n.number("width")*r.scale)), int(math.Ceil(y+n.number("height")*r.scale)))
		return nil
	}
	if n.style.hidden {
		return nil
	}
	var p path
	switch n.name {
	case "svg", "g", "title", "clipPath":
		return nil
	case "rect":
		p.rect(n.number("x"), n.number("y"), n.number("width"), n.number("height"))
	case "line":
		p.moveTo(n.number("x1"), n.number("y1"))
		p.lineTo(n.number("x2"), n.number("y2"))
	case "circle":
		p.circle(n.number("cx"), n.number("cy"), n.number("r"))
	case "path":
		if err := p.parse(n.attr["d"]); err != nil {
			return err
		}
	case "text":
		p = textPath(n.text, n.attr["text-anchor"], n.number("x"), n.number("y"), n.style)
	default:
		return fmt.Errorf("SVG: <%s>: unknown", n.name)
	}
	clip := r.canvas.Bounds()
	if id, ok := strings.CutPrefix(n.attr["clip-path"], "url(#"); ok {
		clip = clip.Intersect(r.clips[strings.TrimSuffix(id, ")")])
	}
	p.scale(r.scale)
	s := n.style
	fill := func() { r.canvas.fill(p, s.colour(s.fill, s.fillOpacity), clip) }
	stroke := func() {
		r.canvas.fill(p.stroked(s.strokeWidth*r.scale, scaled(s.dashes, r.scale)), s.colour(s.stroke, s.strokeOpacity), clip)
	}
	if s.strokeFirst {
		stroke()
		fill()
		return nil
	}
	fill()
	stroke()
	return nil
}

func scaled(list []float64, by float64) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = v * by
	}
	return out
}
