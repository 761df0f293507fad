//! What a runtime offers over HTTP: its routes as a service, and a listener of its own for them.

use super::{Access, BindError, Bound, Listener, Options, Service, ServiceOptions};
use crate::engine::Runtime;

impl Runtime {
    /// The AG-UI routes, to be mounted on a server that is there already. Opens nothing and starts
    /// nothing; may be called again, for other callers under another path, say.
    pub fn service(&self, options: ServiceOptions, access: Access) -> Service {
        Service::new(self.clone(), options, access)
    }

    /// Binds a socket and serves the AG-UI routes on it, from now on and in the background. A port that is
    /// taken is an error at once, and never another port.
    ///
    /// # Errors
    /// The address cannot be bound, or others could reach it in a way that the options do not allow.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn listen(&self, options: Options, access: Access) -> Result<Listener, BindError> {
        self.listen_on(Bound::new(&options)?, options, access)
    }

    /// The same on an address that was bound before there was a runtime, so that a port that is taken is known
    /// before anything else is begun.
    ///
    /// # Errors
    /// The socket cannot be waited on.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn listen_on(
        &self,
        bound: Bound,
        options: Options,
        access: Access,
    ) -> Result<Listener, BindError> {
        Listener::start(bound, self, options, access)
    }
}
