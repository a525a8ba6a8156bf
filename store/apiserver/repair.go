package apiserver

import (
	"context"
	"time"
)

// repairInterval is the time between two checks of the addresses and ports of services.
const repairInterval = 3 * time.Minute

// repairServices repairs the allocations of services until the server ends.
func (s *Server) repairServices(ctx context.Context) {
	tick := time.NewTicker(repairInterval)
	defer tick.Stop()
	if s.store.Capabilities().Durable { // it may hold what an earlier server left
		s.repairServicesOnce(ctx)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.lifecycle.reached[ending]:
			return
		case <-tick.C:
			s.repairServicesOnce(ctx)
		}
	}
}

func (s *Server) repairServicesOnce(ctx context.Context) {
	if err := s.kinds.RepairServices(ctx); err != nil && ctx.Err() == nil {
		s.logger.Warn("repair of service allocations failed", "err", err)
	}
}
