package apiserver

import "context"

func (s *Server) bootstrap(context.Context) error { return nil }

func (s *Server) maintain(ctx context.Context) { <-ctx.Done() }
