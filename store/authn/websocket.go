package authn

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"
)

// webSocketPrefix begins the subprotocol in which browsers, which cannot set an Authorization header on a
// WebSocket, send a bearer token.
const webSocketPrefix = "base64url.bearer.authorization.k8s.io."

// webSocketToken removes the token from the offered subprotocols of the request and returns it, so that no
// later handler sees or echoes it.
func webSocketToken(r *http.Request) (string, bool) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return "", false
	}
	var token string
	var rest []string
	for _, h := range r.Header.Values("Sec-Websocket-Protocol") {
		for p := range strings.SplitSeq(h, ",") {
			p = strings.TrimSpace(p)
			enc, ok := strings.CutPrefix(p, webSocketPrefix)
			if !ok || token != "" {
				rest = append(rest, p)
				continue
			}
			raw, err := base64.RawURLEncoding.DecodeString(enc)
			if err != nil || !utf8.Valid(raw) {
				return "", false
			}
			token = string(raw)
		}
	}
	// The token is not a protocol: the client must offer another one, for the response to select.
	if token == "" || len(rest) == 0 {
		return "", false
	}
	r.Header.Set("Sec-Websocket-Protocol", strings.Join(rest, ","))
	return token, true
}
