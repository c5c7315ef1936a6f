"""Any likelihood from statistics, by Gaussian sites."""

from odvff.inference.sites.fit import SiteFit, fit_sites

__all__ = ["SiteFit", "fit_sites"]
