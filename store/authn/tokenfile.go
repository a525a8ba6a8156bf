package authn

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// TokenFile reads static tokens: CSV lines of token,user,uid and optionally a quoted, comma-separated list of
// groups. Blank lines and lines that begin with # are skipped. A line with fewer columns, or an empty token
// or user, is an error that names it.
func TokenFile(r io.Reader) (TokenAuthenticator, error) {
	read := csv.NewReader(r)
	read.FieldsPerRecord = -1
	read.Comment = '#'
	// Keyed by digest, so that the duration of a lookup reveals nothing about a token.
	users := map[[sha256.Size]byte]*User{}
	for {
		rec, err := read.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("authn: token file: %w", err)
		}
		line, _ := read.FieldPos(0)
		if len(rec) < 3 {
			return nil, fmt.Errorf("authn: token file line %d: want token,user,uid[,groups], got %d columns", line, len(rec))
		}
		token, u := strings.TrimSpace(rec[0]), &User{Name: strings.TrimSpace(rec[1]), UID: strings.TrimSpace(rec[2])}
		if token == "" || u.Name == "" {
			return nil, fmt.Errorf("authn: token file line %d: token and user must not be empty", line)
		}
		if len(rec) > 3 && strings.TrimSpace(rec[3]) != "" {
			for g := range strings.SplitSeq(rec[3], ",") {
				u.Groups = append(u.Groups, strings.TrimSpace(g))
			}
		}
		key := sha256.Sum256([]byte(token))
		if users[key] != nil {
			return nil, fmt.Errorf("authn: token file line %d: duplicate token", line)
		}
		users[key] = u
	}
	return TokenFunc(func(_ context.Context, token string) (*Response, bool, error) {
		u, ok := users[sha256.Sum256([]byte(token))]
		if !ok {
			return nil, false, nil
		}
		return &Response{User: u}, true, nil
	}), nil
}
