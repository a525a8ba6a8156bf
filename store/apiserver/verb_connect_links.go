package apiserver

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html" // the tokenizer of HTML that the Go project keeps

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// linkAttributes are the attributes of HTML elements that hold a URL.
var linkAttributes = map[string]string{
	"a": "href", "applet": "codebase", "area": "href", "audio": "src", "base": "href", "blockquote": "cite", "body": "background",
	"button": "formaction", "command": "icon", "del": "cite", "embed": "src", "form": "action", "frame": "longdesc src", "head": "profile",
	"html": "manifest", "iframe": "longdesc src", "img": "longdesc src usemap", "input": "src usemap formaction", "ins": "cite", "link": "href",
	"object": "classid codebase data usemap", "q": "cite", "script": "src", "source": "src", "video": "poster src",
}

// maxElement is the largest element or text of a page in bytes; what follows a larger one is passed on as it
// is.
const maxElement = 4 << 20

// links rewrites what a backend says about its own paths, so that a browser that follows it comes back to the
// backend through this server.
type links struct {
	prefix  string // of the path of the request, before the path at the backend
	backend string // host and port of the backend
	front   string // the host that the client asked for
}

// withoutSharing removes the headers that give other sites access to a backend: they are meant for its own.
func withoutSharing(h http.Header) {
	for _, name := range []string{"Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Allow-Origin"} {
		h.Del(name)
	}
}

// apply changes the redirect and the links of a page.
func (l *links) apply(resp *http.Response) error {
	withoutSharing(resp.Header)
	if to := resp.Header.Get("Location"); to != "" {
		target, err := url.Parse(to)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("error trying to parse Location header: %w", err))
		}
		resp.Header.Set("Location", l.rewrite(target))
		return nil
	}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != "text/html" {
		return nil
	}
	if resp.Request.Method == http.MethodHead {
		resp.Header.Del("Content-Length") // that of the page as it would be read
		return nil
	}
	page, err := newHTMLPage(resp.Body, resp.Header.Get("Content-Encoding"), l.rewrite)
	if page == nil || err != nil {
		return err
	}
	resp.Body, resp.ContentLength = page, -1
	resp.Header.Del("Content-Length")
	return nil
}

// rewrite returns the link as it leads through this server: one to another host, or relative to the page,
// stays.
func (l *links) rewrite(link *url.URL) string {
	if link.Host != "" && link.Host != l.backend && link.Host != l.front || !strings.HasPrefix(link.Path, "/") {
		return link.String()
	}
	if link.Host != l.front {
		link.Scheme, link.Host = "", ""
	}
	if strings.HasPrefix(link.Path, l.prefix) {
		return link.String()
	}
	slash := strings.HasSuffix(link.Path, "/")
	link.Path, link.RawPath = path.Join(l.prefix, link.Path), ""
	if slash && !strings.HasSuffix(link.Path, "/") {
		link.Path += "/"
	}
	return link.String()
}

// htmlPage is a page whose links are rewritten while it is read.
type htmlPage struct {
	body    io.Closer
	decoded io.Reader
	tokens  *html.Tokenizer
	rewrite func(*url.URL) string
	out     bytes.Buffer
	encoder io.WriteCloser // writes to out
	rest    bool           // is passed on as it is
	err     error          // once the page has been read
}

// newHTMLPage returns the page of a body; nil for an encoding that is not understood.
func newHTMLPage(body io.ReadCloser, encoding string, rewrite func(*url.URL) string) (*htmlPage, error) {
	p := &htmlPage{body: body, decoded: body, rewrite: rewrite}
	switch encoding {
	case "":
		p.encoder = nopCloser{&p.out}
	case "gzip":
		plain, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		p.decoded, p.encoder = plain, gzip.NewWriter(&p.out)
	case "deflate":
		encoder, err := flate.NewWriter(&p.out, flate.DefaultCompression)
		if err != nil {
			return nil, err
		}
		p.decoded, p.encoder = flate.NewReader(body), encoder
	default:
		return nil, nil
	}
	p.tokens = html.NewTokenizer(p.decoded)
	p.tokens.SetMaxBuf(maxElement)
	return p, nil
}

// Read implements io.Reader.
func (p *htmlPage) Read(b []byte) (int, error) {
	for p.out.Len() == 0 && p.err == nil {
		p.step()
	}
	if p.out.Len() == 0 {
		return 0, p.err
	}
	return p.out.Read(b)
}

// Close implements io.Closer.
func (p *htmlPage) Close() error { return p.body.Close() }

// step writes the next element to out, or sets err.
func (p *htmlPage) step() {
	if p.rest {
		_, err := io.CopyN(p.encoder, p.decoded, 32<<10)
		p.finish(err)
		return
	}
	kind := p.tokens.Next()
	text := p.tokens.Raw()
	var err error
	switch kind {
	case html.ErrorToken:
		_, _ = p.encoder.Write(text) // to memory
		if err = p.tokens.Err(); err == html.ErrBufferExceeded {
			_, err = p.encoder.Write(p.tokens.Buffered())
			p.rest = true
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		_, err = io.WriteString(p.encoder, p.element(string(text)))
	default:
		_, err = p.encoder.Write(text)
	}
	p.finish(err)
}

// finish ends the page if err is not nil.
func (p *htmlPage) finish(err error) {
	if err == nil {
		return
	}
	p.err = err
	if err == io.EOF {
		if closed := p.encoder.Close(); closed != nil {
			p.err = closed
		}
	}
}

// element returns the current element, whose text is given, with its links rewritten.
func (p *htmlPage) element(text string) string {
	token := p.tokens.Token()
	names, ok := linkAttributes[token.Data]
	if !ok {
		return text
	}
	changed := false
	for i, a := range token.Attr {
		if !strings.Contains(" "+names+" ", " "+a.Key+" ") {
			continue
		}
		link, err := url.Parse(strings.TrimSpace(a.Val))
		if err != nil {
			continue
		}
		before := link.String()
		if after := p.rewrite(link); after != before {
			token.Attr[i].Val, changed = after, true
		}
	}
	if !changed {
		return text
	}
	return token.String()
}

type nopCloser struct{ io.Writer }

// Close implements io.Closer.
func (nopCloser) Close() error { return nil }
