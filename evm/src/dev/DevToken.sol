// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title DevToken
/// @notice FOR DEVELOPMENT ONLY. ANYONE CAN MINT ANY AMOUNT. Never deploy it to a network with real money.
/// @dev Replaces stablecoins on local chains. Its EIP-712 domain is (name, "1").
contract DevToken is ERC20Permit {
    uint8 private immutable _decimals;

    /// @param name_ The name, also in the EIP-712 domain.
    /// @param symbol_ The symbol.
    /// @param decimals_ The decimals.
    /// @param initialHolder The account that receives the initial supply.
    /// @param initialSupply The initial supply in base units; may be zero.
    constructor(
        string memory name_,
        string memory symbol_,
        uint8 decimals_,
        address initialHolder,
        uint256 initialSupply
    ) ERC20(name_, symbol_) ERC20Permit(name_) {
        _decimals = decimals_;
        _mint(initialHolder, initialSupply);
    }

    /// @notice Mints `amount` to `to`, for any caller.
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function decimals() public view override returns (uint8) {
        return _decimals;
    }
}
