"""Hosts written for Cerebras' SDK run unchanged, on the simulated wafer.

``python -m tensorpress.csl run.py ARGS`` runs a host with the folder ``vendor`` on its path, where
the modules have the vendor's names; ``python -m tensorpress.csl examples FOLDER`` runs every
``commands_wse2.sh`` below a folder. Nothing of this is imported by ``import tensorpress``.
"""
