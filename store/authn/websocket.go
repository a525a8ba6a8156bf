package authn

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"
)

// webSocketPrefix begins the subprotocol in which browsers, which cannot set an Authorization header on a
// WebSocket, send a bearer token.
const webSocketPrefix = "base64url.bearer.authorization.k8s.io."

// webSocketToken removes the token from the offered subprotocols of the request and returns it, so that no
// later handler sees or echoes it. A request with more than one token, one that cannot be decoded, or no
// further protocol is refused, as by kube-apiserver.
func webSocketToken(r *http.Request) (token string, ok bool, err error) {
	if !isWebSocket(r) {
		return "", false, nil
	}
	seen := false
	var rest []string
	for _, h := range r.Header.Values("Sec-Websocket-Protocol") {
		for p := range strings.SplitSeq(h, ",") {
			p = strings.TrimSpace(p)
			enc, ok := strings.CutPrefix(p, webSocketPrefix)
			switch {
			case !ok:
				rest = append(rest, p)
				continue
			case seen:
				return "", false, errors.New("authn: more than one bearer token in the subprotocols")
			}
			raw, err := base64.RawURLEncoding.DecodeString(enc)
			if err != nil || !utf8.Valid(raw) {
				return "", false, errors.New("authn: the bearer token in the subprotocols is no text in base64")
			}
			token, seen = string(raw), true
		}
	}
	switch {
	case token == "":
		return "", false, nil
	case len(rest) == 0: // the token is not a protocol that a response could select
		return "", false, errors.New("authn: the bearer token in the subprotocols needs another subprotocol beside it")
	}
	r.Header.Set("Sec-Websocket-Protocol", strings.Join(rest, ","))
	return token, true, nil
}

// isWebSocket reports whether a request opens a WebSocket.
func isWebSocket(r *http.Request) bool {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return false
	}
	for option := range strings.SplitSeq(r.Header.Get("Connection"), ",") {
		if strings.EqualFold(strings.TrimSpace(option), "upgrade") {
			return true
		}
	}
	return false
}
