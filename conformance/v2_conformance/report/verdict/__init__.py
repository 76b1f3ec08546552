"""From the outcomes of cases to requirements, the verdict and what it claims."""
