package apiserver

func (s *Server) builtinComputed() []Computed { return nil }
