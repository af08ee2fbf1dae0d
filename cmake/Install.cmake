# filled by the packaging step
