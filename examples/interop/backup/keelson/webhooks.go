package main

import (
	"context"
	"errors"
	"strings"

	"github.com/keelson-dev/keelson/controllers/webhook"
)

func addWebhooks(s *webhook.Server) {
	s.Handle("/mutate", webhook.Mutating(func(_ context.Context, _ *webhook.Request, b *Backup) error {
		if b.Spec.Keep == nil {
			b.Spec.Keep = new(int32(3))
		}
		return nil
	}))
	s.Handle("/validate", webhook.Validating(func(_ context.Context, r *webhook.Request, b *Backup) error {
		if r.Operation == "DELETE" {
			return nil
		}
		old, updated, err := webhook.Old[*Backup](r)
		switch {
		case err != nil:
			return err
		case !strings.HasPrefix(b.Spec.Source, "/"):
			return errors.New("spec.source: must be an absolute path")
		case updated && old.Spec.Source != b.Spec.Source:
			return errors.New("spec.source: cannot change")
		case b.Spec.Paused:
			r.Warn("backup " + b.Name + " is paused")
		}
		return nil
	}))
}
